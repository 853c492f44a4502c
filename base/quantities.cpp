// A quantity is a plain decimal number, optional white space, and one unit of a table. Numbers are read by
// std::from_chars, which knows no locale; the tables below are the whole list of units. Cost: constant.
#include "base/quantities.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

namespace orrery {
namespace {

struct Unit {
  std::string_view name;
  double factor;  // to the base unit: byte, byte/s, FLOP/s, picosecond
};

constexpr double kKi = 1024.0;
constexpr std::array kBytes = std::to_array<Unit>({{"B", 1},
                                                   {"kB", 1e3},
                                                   {"MB", 1e6},
                                                   {"GB", 1e9},
                                                   {"TB", 1e12},
                                                   {"PB", 1e15},
                                                   {"KiB", kKi},
                                                   {"MiB", kKi* kKi},
                                                   {"GiB", kKi* kKi* kKi},
                                                   {"TiB", kKi* kKi* kKi* kKi}});
constexpr std::array kBandwidths = std::to_array<Unit>({{"bit/s", 1.0 / 8},
                                                        {"kbit/s", 1e3 / 8},
                                                        {"Mbit/s", 1e6 / 8},
                                                        {"Gbit/s", 1e9 / 8},
                                                        {"Tbit/s", 1e12 / 8},
                                                        {"B/s", 1},
                                                        {"kB/s", 1e3},
                                                        {"MB/s", 1e6},
                                                        {"GB/s", 1e9},
                                                        {"TB/s", 1e12},
                                                        {"KiB/s", kKi},
                                                        {"MiB/s", kKi* kKi},
                                                        {"GiB/s", kKi* kKi* kKi},
                                                        {"TiB/s", kKi* kKi* kKi* kKi}});
constexpr std::array kFlopRates = std::to_array<Unit>({{"FLOP/s", 1},
                                                       {"kFLOP/s", 1e3},
                                                       {"MFLOP/s", 1e6},
                                                       {"GFLOP/s", 1e9},
                                                       {"TFLOP/s", 1e12},
                                                       {"PFLOP/s", 1e15},
                                                       {"EFLOP/s", 1e18}});
constexpr std::array kDurations = std::to_array<Unit>({{"ps", 1},
                                                       {"ns", 1e3},
                                                       {"us", 1e6},
                                                       {"ms", 1e9},
                                                       {"s", 1e12},
                                                       {"min", 60e12},
                                                       {"h", 3600e12},
                                                       {"d", 86400e12}});

// The value in base units; nullopt for a wrong number or unit.
std::optional<double> parse_quantity(std::string_view text, std::span<const Unit> units) {
  const bool begins_with_digit = !text.empty() && ((text[0] >= '0' && text[0] <= '9') || text[0] == '.');
  if (!begins_with_digit) return std::nullopt;  // from_chars also takes "-1", "nan" and "inf"
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == text; });
  if (unit == units.end() || !std::isfinite(value * unit->factor)) return std::nullopt;
  return value * unit->factor;
}

// To the nearest whole number, but never from something to nothing.
std::optional<std::int64_t> nearest_whole(std::optional<double> value) {
  constexpr double kMax = 9.2e18;
  if (!value || *value > kMax) return std::nullopt;
  const std::int64_t whole = std::llround(*value);
  return whole == 0 && *value > 0.0 ? 1 : whole;
}

// Three significant digits of a number below 1000.
std::string three_digits(double value) {
  const double size = std::abs(value);
  if (size < 9.995) return fmt::format("{:.2f}", value);
  if (size < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

struct Scale {
  double factor;
  std::string_view name;
};

// The largest scale that leaves at least 1 (0.9995 prints as 1.00); scales ascend.
std::string scaled(double value, std::span<const Scale> scales) {
  if (value == 0.0) return fmt::format("0 {}", scales.front().name);
  const Scale* best = &scales.front();
  for (const Scale& scale : scales)
    if (std::abs(value) >= 0.9995 * scale.factor) best = &scale;
  return fmt::format("{} {}", three_digits(value / best->factor), best->name);
}

}  // namespace

std::optional<Bytes> parse_bytes(std::string_view text) {
  const std::optional<std::int64_t> count = nearest_whole(parse_quantity(text, kBytes));
  return count ? std::optional(Bytes(*count)) : std::nullopt;
}

std::optional<Bandwidth> parse_bandwidth(std::string_view text) {
  const std::optional<double> value = parse_quantity(text, kBandwidths);
  return value ? std::optional(Bandwidth(*value)) : std::nullopt;
}

std::optional<FlopRate> parse_flop_rate(std::string_view text) {
  const std::optional<double> value = parse_quantity(text, kFlopRates);
  return value ? std::optional(FlopRate(*value)) : std::nullopt;
}

std::optional<Duration> parse_duration(std::string_view text) {
  const std::optional<std::int64_t> ps = nearest_whole(parse_quantity(text, kDurations));
  return ps ? std::optional(Duration::from_ps(*ps)) : std::nullopt;
}

std::string human_bytes(Bytes bytes) {
  static constexpr std::array kScales =
      std::to_array<Scale>({{1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}, {1e15, "PB"}});
  if (bytes.count() > -1000 && bytes.count() < 1000) return fmt::format("{} B", bytes.count());
  return scaled(static_cast<double>(bytes.count()), kScales);
}

std::string human_duration(Duration duration) {
  static constexpr std::array kScales = std::to_array<Scale>({{1e-12, "ps"},
                                                              {1e-9, "ns"},
                                                              {1e-6, "us"},
                                                              {1e-3, "ms"},
                                                              {1, "s"}});
  static constexpr std::array kLong = std::to_array<Scale>({{60, "min"}, {3600, "h"}, {86400, "d"}});
  const double seconds = duration.seconds();
  if (duration.ps() == 0) return "0 s";
  return std::abs(seconds) < 999.5 ? scaled(seconds, kScales) : scaled(seconds, kLong);
}

std::string human_bandwidth(Bandwidth bandwidth) {
  static constexpr std::array kScales =
      std::to_array<Scale>({{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}, {1e15, "PB/s"}});
  return scaled(bandwidth.value(), kScales);
}

std::string human_flop_rate(FlopRate rate) {
  static constexpr std::array kScales = std::to_array<Scale>(
      {{1, "FLOP/s"}, {1e3, "kFLOP/s"}, {1e6, "MFLOP/s"}, {1e9, "GFLOP/s"}, {1e12, "TFLOP/s"}, {1e15, "PFLOP/s"},
       {1e18, "EFLOP/s"}});
  return scaled(rate.value(), kScales);
}

std::string human_count(double count) {
  static constexpr std::array kScales = std::to_array<Scale>({{1e3, "K"}, {1e6, "M"}, {1e9, "B"}, {1e12, "T"}});
  if (std::abs(count) < 999.5) return count == std::floor(count) ? fmt::format("{:.0f}", count) : three_digits(count);
  return scaled(count, kScales);
}

}  // namespace orrery
