// Where every rank stands, for whoever has to say why nothing goes on: written by the lanes with relaxed stores, read by the
// watch of any process that shares the memory. Plain words, so that it can lie in memory shared between processes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "schedule/op.h"

namespace orrery::runtime {

// Between runs, and `saving` where its part of a checkpoint is not yet on the disk, a rank still owes the others something;
// once it has finished, nobody waits for it.
enum class RankState : std::uint32_t { starting, running, between_runs, saving, finished, failed };

struct BoardSlot {
  std::atomic<std::uint64_t> completed{0};  // ops, and everything else that is progress
  std::atomic<RankState> state{RankState::starting};
  std::atomic<std::int64_t> process{0};     // its pid
  // Of each stream: step * entries + entry of its queue, twice; plus 1 while that entry is running.
  std::array<std::atomic<std::uint64_t>, schedule::kStreams> position{};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace orrery::runtime
