// The loop over one row of a pointwise kernel: whole lanes first, then a part of one. The body is written
// once for both, with what it loads and stores told apart by the second argument, so that an element's
// arithmetic is the same wherever a row is cut, and in place works (each lane is loaded before it is stored).
#pragma once

#include "kernels/convert.h"

namespace orrery::kernels {

struct WholeLanes {};
struct PartOfLanes {
  std::int64_t count = 0;
};

template <typename T>
ORRERY_ALWAYS_INLINE Lanes<T> load(const T* from, WholeLanes) {
  return load(from);
}
template <typename T>
ORRERY_ALWAYS_INLINE Lanes<T> load(const T* from, PartOfLanes part) {
  return load_part(from, part.count);
}
template <typename T>
ORRERY_ALWAYS_INLINE void store(T* to, Lanes<T> v, WholeLanes) {
  store(to, v);
}
template <typename T>
ORRERY_ALWAYS_INLINE void store(T* to, Lanes<T> v, PartOfLanes part) {
  store_part(to, v, part.count);
}

// Zero where there is nothing to load (no bias, no residual).
template <typename T, typename Extent>
ORRERY_ALWAYS_INLINE Lanes<T> load_or_zero(const T* from, std::int64_t at, Extent extent) {
  return from == nullptr ? Lanes<T>{} : load(from + at, extent);
}

// An output: replaces, or is added to.
template <typename T, typename Extent>
ORRERY_ALWAYS_INLINE void put(T* to, Lanes<T> v, bool adds, Extent extent) {
  store(to, adds ? load(to, extent) + v : v, extent);
}

// Asks for what lies 2 KiB behind from[at], for loops that compute long enough for the hardware's own
// prefetch, which stops at pages, to fall behind. Past the end of a row it is the next row, or nothing; so
// `from` is a number here, and may be null.
template <typename T>
ORRERY_ALWAYS_INLINE void fetch_ahead(const T* from, std::int64_t at) {
  constexpr std::uintptr_t kAhead = 2048;
  const std::uintptr_t place =
      reinterpret_cast<std::uintptr_t>(from) + static_cast<std::uintptr_t>(at) * sizeof(T);
  __builtin_prefetch(reinterpret_cast<const void*>(place + kAhead));
}

// body(i, extent) for the elements [i, i + extent) of a row of `count`.
template <typename T, typename Body>
ORRERY_ALWAYS_INLINE void for_lanes(std::int64_t count, Body&& body) {
  std::int64_t i = 0;
  for (; i + lane_count<T> <= count; i += lane_count<T>) body(i, WholeLanes{});
  if (i < count) body(i, PartOfLanes{count - i});
}

}  // namespace orrery::kernels
