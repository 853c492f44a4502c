// Text for people, in at most kColumns columns: numbers with three digits, bars, aligned tables, wrapped
// paragraphs. Widths count UTF-8 characters, not bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::sim {

inline constexpr std::size_t kColumns = 100;

std::string seconds_text(double seconds);          // "9.69 s"
std::string bytes_text(double bytes);              // "18.6 GB"
std::string percent_text(double share);            // "45.8 %"
std::string number_text(double value);             // three significant digits, "12,300", "0.0123"
std::string bar(double share, std::size_t width);  // '#', at least one where the share is not 0

std::size_t text_width(std::string_view text);
std::string padded(std::string_view text, std::size_t width);  // left-aligned
std::string right_aligned(std::string_view text, std::size_t width);

// Breaks at blanks; the first line begins with `first`, the others with as many blanks.
std::string wrapped(std::string_view text, std::string_view first);

// A table whose first column is left-aligned and whose others are right-aligned, two blanks apart, each line
// indented by two. An empty row is a blank line.
std::string table_text(const std::vector<std::vector<std::string>>& rows);

}  // namespace orrery::sim
