// Pieces of the text form that the block form, the unrolled form and verify's findings share.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "schedule/ir.h"
#include "schedule/text/fields.h"

namespace orrery::schedule {

std::string quoted(std::string_view text);
std::string as_name(std::string_view text);  // plain where it can be, else quoted

struct FieldWriter {
  std::string text;
  void write(std::string_view key, std::string_view value);
  template <typename T>
  static std::string value_of(const T& value) {
    if constexpr (std::is_same_v<T, bool>)
      return value ? "true" : "false";
    else if constexpr (std::is_same_v<T, std::string>)
      return quoted(value);
    else if constexpr (std::is_enum_v<T>)
      return std::string(word_of(value));
    else
      return fmt::format("{}", value);  // doubles: the shortest text that reads back as the same value
  }
};

// "key=value ..." of the fields that differ from those of T{}; `each` lists the fields (text/fields.h).
template <typename T, typename Each>
std::string fields_that_differ(const T& object, Each&& each) {
  const T plain{};
  std::vector<std::string> defaults;
  each(plain, [&](std::string_view, const auto& v) { defaults.push_back(FieldWriter::value_of(v)); });
  FieldWriter writer;
  std::size_t at = 0;
  each(object, [&](std::string_view key, const auto& v) {
    const std::string value = FieldWriter::value_of(v);
    if (value != defaults[at++]) writer.write(key, value);
  });
  return writer.text;
}

std::vector<std::string> formal_names(const Program& program, const Block& block);
std::string shape_text(const KernelShape& shape);  // "m=64 n=64 k=64", what differs from KernelShape{}
std::string view_text(const View& view, const Buffer& buffer, const std::string& name);

}  // namespace orrery::schedule
