#include "sim/report/text_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantities.h"
#include "base/units.h"

namespace orrery::sim {

std::string seconds_text(double seconds) {
  constexpr double kDay = 86400.0;  // a Duration ends after 106 days; training runs need not
  if (seconds >= 100.0 * kDay) return number_text(seconds / kDay) + " d";
  return human_duration(Duration::from_seconds_up(seconds));
}

std::string bytes_text(double bytes) {
  return human_bytes(Bytes(static_cast<std::int64_t>(std::llround(bytes))));
}

std::string percent_text(double share) { return fmt::format("{:.1f} %", 100.0 * share); }

std::string number_text(double value) {
  const double size = std::abs(value);
  if (value == 0.0) return "0";
  if (size < 99.95)
    return fmt::format("{:.{}f}", value, std::max(0, 2 - static_cast<int>(std::floor(std::log10(size)))));
  std::string digits = fmt::format("{:.0f}", size);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return value < 0.0 ? "-" + digits : digits;
}

std::string bar(double share, std::size_t width) {
  const double marks = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  const auto count = static_cast<std::size_t>(std::lround(marks));
  return std::string(share > 0.0 ? std::max<std::size_t>(count, 1) : 0, '#');
}

std::size_t text_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string padded(std::string_view text, std::size_t width) {
  const std::size_t used = text_width(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string right_aligned(std::string_view text, std::size_t width) {
  const std::size_t used = text_width(text);
  return std::string(used < width ? width - used : 0, ' ') + std::string(text);
}

std::string wrapped(std::string_view text, std::string_view first) {
  const std::string indent(text_width(first), ' ');
  std::string result(first), line;
  std::size_t at = 0;
  const auto flush = [&] {
    result += line + "\n";
    line.clear();
  };
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const std::size_t with_word = text_width(line) + (line.empty() ? 0 : 1) + text_width(word);
    if (!line.empty() && indent.size() + with_word > kColumns) {
      flush();
      result += indent;
    }
    if (!line.empty()) line += ' ';
    line += word;
    at = end + 1;
  }
  flush();
  return result;
}

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c == widths.size()) widths.push_back(0);
      widths[c] = std::max(widths[c], text_width(row[c]));
    }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c)
      line += "  " + (c == 0 ? padded(row[c], widths[c]) : right_aligned(row[c], widths[c]));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace orrery::sim
