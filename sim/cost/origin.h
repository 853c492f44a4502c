// Where a time comes from: exact by definition, measured at this very size, interpolated between measured sizes, or
// modelled by a fit or a formula. The order is that of trust.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace orrery::sim {

enum class Origin : std::uint8_t { exact, measured, interpolated, modelled };
inline constexpr std::size_t kOrigins = 4;

constexpr std::string_view name(Origin origin) {
  constexpr std::array<std::string_view, kOrigins> kNames = {"exact", "measured", "interpolated", "modelled"};
  return kNames[static_cast<std::size_t>(origin)];
}

}  // namespace orrery::sim
