// From a Hugging Face config.json to an Architecture: find the language model's part, refuse what
// cannot be counted, let the family fill in what its code does, and account for every key.
#include "models/hf_reader.h"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "models/dimension_checks.h"
#include "models/hf_config.h"
#include "models/hf_dimensions.h"
#include "models/hf_families.h"
#include "models/hf_keys.h"

namespace orrery::models {
namespace {

// Multi-modal files keep the language model under "text_config"; other towers have the same key names in
// their own objects, so nothing is ever searched for deeper than this.
const Json& language_part(const Json& json, Diagnostics& diagnostics) {
  const Json* text = json.find("text_config");
  const bool has_text = text != nullptr && text->is_object();
  for (const char* tower : {"vision_config", "audio_config", "img_processor"}) {
    const Json* part = json.find(tower);
    if (part != nullptr && part->is_object())
      diagnostics.warning(part->place, fmt::format("\"{}\": only the language model is counted", tower));
  }
  return has_text ? *text : json;
}

std::string text_of(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  return value != nullptr && value->is_string() ? value->string : std::string();
}

std::string class_of(const Json& json) {
  const Json* classes = json.find("architectures");
  if (classes == nullptr || !classes->is_array() || classes->items.empty()) return {};
  return classes->items.front().is_string() ? classes->items.front().string : std::string();
}

std::string type_of(const Json& text, const Json& outer) {
  const std::string type = text_of(text, "model_type");
  return type.empty() && &text != &outer ? text_of(outer, "model_type") : type;
}

void report_unknown_family(const Json& text, const Json& outer, Diagnostics& diagnostics) {
  const std::string type = type_of(text, outer), name = class_of(text);
  const Json* place = text.find("model_type");
  if (place == nullptr) place = text.find("architectures");
  const std::string message =
      type.empty() && name.empty()
          ? std::string(
                "\"model_type\" is missing: norms, biases and tied embeddings cannot be known without it")
          : fmt::format("the model family \"{}\" is not known", type.empty() ? name : type);
  diagnostics.error(place != nullptr ? place->place : text.place, message,
                    fmt::format("known: {}; or write a model file of Orrery's own", known_families()));
}

// Many files are called config.json; then the folder says more.
std::string name_of(const Json& text, const Json& outer, const std::string& family) {
  const std::string named = text_of(outer, "_name_or_path").empty() ? text_of(text, "_name_or_path")
                                                                    : text_of(outer, "_name_or_path");
  std::string last = std::filesystem::path(named).filename().string();
  if (!last.empty()) return last;
  if (outer.place.source == nullptr) return family;
  std::error_code no_folder;  // the one we are in was removed
  const std::filesystem::path path =
      std::filesystem::absolute(outer.place.source->path, no_folder).lexically_normal();
  std::string stem = path.stem().string();
  if (!stem.empty() && stem != "config") return stem;
  const std::string folder = path.parent_path().filename().string();
  return folder.empty() ? family : folder;
}

}  // namespace

bool looks_like_hugging_face(const Json& json) {
  for (const char* key : {"model_type", "architectures", "text_config", "hidden_size", "n_embd", "d_model",
                          "n_embed", "num_hidden_layers", "n_layer", "num_attention_heads", "n_head"})
    if (json.find(key) != nullptr) return true;
  return false;
}

Architecture read_hugging_face(const Json& json, Diagnostics& diagnostics) {
  const Json& text = language_part(json, diagnostics);
  Architecture a;
  const HfFamily* family = find_family(type_of(text, json), class_of(text));
  const HfParts parts = family == nullptr ? HfParts{} : family->parts;
  bool is_known = refuse_unsupported(json, parts, diagnostics);
  if (&text != &json && is_known) is_known = refuse_unsupported(text, parts, diagnostics);
  if (!is_known) return a;
  if (family == nullptr) {
    report_unknown_family(text, json, diagnostics);
    return a;
  }
  HfConfig config(text, json, diagnostics);
  const std::size_t errors_before = config.errors();
  family->read(config, a);
  if (config.errors() == errors_before) check_dimensions(a, hf_dimension_fields(config), diagnostics);
  config.finish();
  a.name = name_of(text, json, std::string(family->name));
  a.source = fmt::format("Hugging Face config.json, model_type {}", family->name);
  return a;
}

}  // namespace orrery::models
