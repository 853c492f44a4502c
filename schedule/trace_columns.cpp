// A token is an integer, or integer*count with a count of at least 1; a blank stands between two of them.
#include "schedule/trace_columns.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

namespace orrery::schedule {

void ColumnWriter::add(std::int64_t value) {
  if (count_ > 0 && value == value_) {
    ++count_;
    return;
  }
  end_run();
  value_ = value;
  count_ = 1;
}

void ColumnWriter::end_run() {
  if (count_ == 0) return;
  if (!text_.empty()) text_ += ' ';
  const fmt::format_int digits(value_);
  text_.append(digits.data(), digits.size());
  if (count_ > 1) fmt::format_to(std::back_inserter(text_), "*{}", count_);
  count_ = 0;
}

std::string ColumnWriter::text() {
  end_run();
  return std::exchange(text_, {});
}

bool ColumnReader::refuse(std::string message, std::string hint) {
  Place place = json_->place;
  place.column += static_cast<std::uint32_t>(1 + token_);  // behind the quote
  diagnostics_->error(std::move(place), fmt::format("{}: {}", name_, message), std::move(hint));
  return false;
}

bool ColumnReader::read_token() {
  const std::string& text = json_->string;
  token_ = at_;
  if (at_ >= text.size()) return refuse("there are fewer values than records");
  const char* end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data() + at_, end, value_);
  if (error == std::errc::result_out_of_range) return refuse("this number does not fit into 64 bits");
  if (error != std::errc()) return refuse("this is no integer", "integers, one blank between two of them");
  const char* next = behind;
  left_ = 1;
  if (next != end && *next == '*') {
    const auto [behind_count, wrong] = std::from_chars(next + 1, end, left_);
    if (wrong != std::errc() || left_ < 1)
      return refuse("this count is none", "value*count, count at least 1");
    next = behind_count;
  }
  if (next != end && *next != ' ')
    return refuse("this is no integer", "integers, one blank between two of them");
  at_ = static_cast<std::size_t>(next - text.data()) + (next != end ? 1 : 0);
  return true;
}

bool ColumnReader::next(std::int64_t& value) {
  if (left_ == 0 && !read_token()) return false;
  --left_;
  value = value_;
  return true;
}

void ColumnReader::finish(std::int64_t expected) {
  if (left_ == 0) token_ = at_;
  if (left_ > 0 || at_ < json_->string.size())
    static_cast<void>(refuse(fmt::format("there are more values than the {} that belong here", expected)));
}

}  // namespace orrery::schedule
