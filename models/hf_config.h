// One Hugging Face config.json under the reader's hands: a value may stand under any of several spellings, an
// explicit null means "the default", and every key that was asked for is remembered, so that `finish` can
// judge the rest. In a multi-modal configuration `text` is the language model's part and `outer` the whole
// file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/json.h"
#include "base/object_reader.h"
#include "models/dimension_checks.h"

namespace orrery::models {

using Spellings = std::vector<std::string_view>;  // of one value, not empty; the first is used in messages

class HfConfig {
 public:
  HfConfig(const Json& text, const Json& outer, Diagnostics& diagnostics);

  // Spellings that disagree with each other are an error.
  std::int64_t integer(const Spellings& keys, std::optional<std::int64_t> fallback, std::int64_t max);
  bool has(const Spellings& keys);       // one of them is present and not null
  bool mentions(const Spellings& keys);  // one of them is present, null or not
  bool flag(std::string_view key, bool fallback);
  double number(const Spellings& keys, double fallback, double max);  // from 0
  std::string word(const Spellings& keys, const std::string& fallback);
  const Json* object(std::string_view key);  // or null
  bool tied_embeddings(bool fallback);       // of either level; `fallback` is the family's default
  Field field(const Spellings& keys) const;  // where the value stands, or where it is missing

  // An error at `key`'s value: this configuration means something that an Architecture cannot hold.
  void refuse(std::string_view key, const std::string& meaning);
  void require_false(std::string_view key, const std::string& meaning);

  void require_empty(std::string_view key, const std::string& meaning);  // an array without items

  bool nested() const { return &text_ != &outer_; }
  Diagnostics& diagnostics() { return diagnostics_; }
  std::size_t errors() const;

  // Keys nobody asked for: known harmless ones pass, those that may change the parameter count are errors,
  // and the others are named in one warning.
  void finish();

 private:
  std::vector<std::string_view> present(const Spellings& keys);
  const Json& text_;
  const Json& outer_;
  Diagnostics& diagnostics_;
  ObjectReader reader_;
  std::vector<std::string> known_;
};

}  // namespace orrery::models
