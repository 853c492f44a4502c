// Scratch of a kernel: numbers that a thread keeps from call to call, so that no call in the steady state
// allocates. `Tag`, a type that only its user names, tells scratches that are in use at the same time apart.
// They grow to the largest call and begin on a cache line; what they hold at first is unspecified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery::kernels {

template <typename Tag, typename W>
W* scratch(std::int64_t count) {
  struct alignas(64) CacheLine {
    W numbers[64 / sizeof(W)];
  };
  thread_local std::vector<CacheLine> lines;
  const std::size_t needed = static_cast<std::size_t>(count) * sizeof(W) / sizeof(CacheLine) + 1;
  if (lines.size() < needed) lines = std::vector<CacheLine>(needed);
  return lines.data()->numbers;
}

}  // namespace orrery::kernels
