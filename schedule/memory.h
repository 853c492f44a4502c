// Memory from the Schedule: live bytes in host issue order, as a caching allocator sees them (each allocation
// rounded up to 512 B). Exact for any number of repeats: a loop's net growth is linear. Simulator and runtime
// agree on it. An op's allocations happen before it is issued, its frees after. Rests on a schedule that
// verify() found sound.
#pragma once

#include <array>

#include "base/units.h"
#include "schedule/ir.h"

namespace orrery::schedule {

inline constexpr std::int64_t kAllocationGrain = 512;

struct MemoryPeak {
  Bytes peak;  // device, live bytes after rounding
  Bytes host_peak;
  Phase phase = Phase::setup;  // of the op at the peak
  std::string block;           // and its block
  std::uint32_t microbatch = 0;
  std::array<Bytes, kBufferKinds> by_kind{};  // device, at the peak
  std::array<Bytes, kPhases> peak_of_phase{};
  struct Item {
    std::string buffer;
    BufferKind kind;
    Bytes bytes;
  };
  std::vector<Item> items;  // live buffers at the peak, by declaration, largest first
};
MemoryPeak memory_peak(const Program& program);

// Live device bytes at the start and after every change, for traces; host_index is the op's position in the
// rank's host issue order (repeats unrolled to at most `repeat_limit` iterations): where it allocates and
// frees, two steps.
struct MemoryStep {
  std::uint32_t host_index;
  std::int64_t live;
};
std::vector<MemoryStep> memory_timeline(const Program& program, std::uint32_t repeat_limit);

}  // namespace orrery::schedule
