// A 64-bit mixing function (splitmix64's finaliser, Steele et al. 2014). Sums of mixed values are
// order-independent hashes of multisets: classes of ranks and the fingerprint of an event stream are built of
// them.
#pragma once

#include <cstdint>

namespace orrery::sim::engine {

constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return mix(a ^ mix(b)); }
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b, std::uint64_t c) { return mix(a, mix(b, c)); }

}  // namespace orrery::sim::engine
