// Counts in whole units: lanes of a vector, columns of a panel, elements of a cache line.
#pragma once

#include <cstdint>

namespace orrery::kernels {

constexpr std::int64_t round_up(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

}  // namespace orrery::kernels
