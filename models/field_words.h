// The words that model files use for the enumerations of an Architecture: one table each, for reader and
// writer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "models/architecture.h"

namespace orrery::models {

template <typename Enum>
using Words = std::vector<std::pair<std::string, Enum>>;

inline Words<PositionKind> position_words() {
  return {{"none", PositionKind::none},
          {"learned", PositionKind::learned},
          {"rotary", PositionKind::rotary},
          {"alibi", PositionKind::alibi}};
}
inline Words<NormKind> norm_words() {
  return {{"layer_norm", NormKind::layer_norm}, {"rms_norm", NormKind::rms_norm}};
}
inline Words<ActivationKind> activation_words() {
  return {{"gelu", ActivationKind::gelu},
          {"relu", ActivationKind::relu},
          {"squared_relu", ActivationKind::squared_relu},
          {"swiglu", ActivationKind::swiglu},
          {"geglu", ActivationKind::geglu}};
}

inline Words<RouterKind> router_words() {
  return {{"softmax", RouterKind::softmax}, {"sigmoid", RouterKind::sigmoid}};
}

template <typename Enum>
const std::string& word_of(const Words<Enum>& words, Enum value) {
  for (const auto& [word, candidate] : words)
    if (candidate == value) return word;
  return words.front().first;
}

}  // namespace orrery::models
