#include "hardware/field_rules.h"

namespace orrery::hardware {

Bandwidth read_speed(ObjectReader& reader, std::string_view key) {
  constexpr Bandwidth least{1e6}, most{1e15};
  const std::size_t before = reader.diagnostics().all().size();
  const Bandwidth value = reader.bandwidth(key, std::nullopt);
  if (value >= least && value <= most) return value;
  if (reader.diagnostics().all().size() == before)  // present and readable
    reader.diagnostics().error(reader.place(key), fmt::format("{} is out of range", key), "1 MB/s to 1 PB/s");
  return least;
}

Bytes read_size(ObjectReader& reader, std::string_view key) {
  constexpr Bytes least{1}, most{1'000'000'000'000'000'000};
  const std::size_t before = reader.diagnostics().all().size();
  const Bytes value = reader.bytes(key, std::nullopt);
  if (value >= least && value <= most) return value;
  if (reader.diagnostics().all().size() == before)
    reader.diagnostics().error(reader.place(key), fmt::format("{} is out of range", key), "1 B to 1 EB");
  return least;
}

Duration read_delay(ObjectReader& reader, std::string_view key) {
  constexpr Duration most = Duration::from_us(10'000);
  const Duration value = reader.duration(key, std::nullopt);
  if (value <= most) return value;
  reader.diagnostics().error(reader.place(key), fmt::format("{} is out of range", key), "0 to 10 ms");
  return most;
}

}  // namespace orrery::hardware
