// Where a time comes from: exact by definition, measured at this very size, interpolated between measured
// sizes, or modelled by a fit or a formula. The order is that of trust.
#pragma once

#include <cstddef>
#include <cstdint>

namespace orrery::sim {

enum class Origin : std::uint8_t { exact, measured, interpolated, modelled };
inline constexpr std::size_t kOrigins = 4;

}  // namespace orrery::sim
