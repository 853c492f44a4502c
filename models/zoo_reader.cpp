// Tells the formats apart: a Hugging Face file names its model_type or spells its dimensions as transformers
// does.
#include "models/zoo_reader.h"

#include "models/hf_reader.h"
#include "models/native_reader.h"

namespace orrery::models {

Architecture read_architecture(const Json& json, Diagnostics& diagnostics) {
  if (json.is_object() && !looks_native(json) && looks_like_hugging_face(json))
    return read_hugging_face(json, diagnostics);
  return read_native(json, diagnostics);
}

}  // namespace orrery::models
