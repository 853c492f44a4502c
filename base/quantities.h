// Quantities as people write them ("400 Gbit/s", "80 GiB", "2 us") and as people read them ("18.6 GB", "9.69 s").
// Decimal prefixes are powers of 1000, KiB ... TiB of 1024; a bit is an eighth of a byte; "B" and "bit" tell them
// apart, so "Gb/s" is refused. Text is rounded to the nearest byte or picosecond, and what is not zero stays so.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace orrery {

// Quantities from text; nullopt when the text is no such quantity. Negative, NaN and infinite values are refused.
std::optional<Bytes> parse_bytes(std::string_view text);
std::optional<Bandwidth> parse_bandwidth(std::string_view text);
std::optional<FlopRate> parse_flop_rate(std::string_view text);
std::optional<Duration> parse_duration(std::string_view text);

// For people: "18.6 GB" (decimal), "9.69 s", "25.0 GB/s", "312 TFLOP/s". Three significant digits.
std::string human_bytes(Bytes bytes);
std::string human_duration(Duration duration);
std::string human_bandwidth(Bandwidth bandwidth);
std::string human_flop_rate(FlopRate rate);
std::string human_count(double count);  // "69.7 B", "1.56 B", "124 M"

}  // namespace orrery
