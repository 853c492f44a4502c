// One column of a trace file: integers in one string, runs of an equal value as value*count. The reader walks
// a column value by value, so columns are read side by side, and says where in the file it stands when
// something is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/json.h"

namespace orrery::schedule {

class ColumnWriter {
 public:
  void add(std::int64_t value);
  std::string text();  // of all values

 private:
  void end_run();
  std::string text_;
  std::int64_t value_ = 0, count_ = 0;
};

class ColumnReader {
 public:
  ColumnReader() = default;
  // `json` is a string, and outlives the reader.
  ColumnReader(const Json& json, std::string_view name, Diagnostics& diagnostics)
      : json_(&json), name_(name), diagnostics_(&diagnostics) {}

  bool next(std::int64_t& value);  // false: reported
  // Reports a value that makes no sense, at its place. Always false.
  bool refuse(std::string message, std::string hint = {});
  void finish(std::int64_t expected);  // reports values that are left

 private:
  bool read_token();
  const Json* json_ = nullptr;
  std::string_view name_;
  Diagnostics* diagnostics_ = nullptr;
  std::size_t at_ = 0, token_ = 0;  // where the next token begins, and where the current one began
  std::int64_t value_ = 0, left_ = 0;
};

}  // namespace orrery::schedule
