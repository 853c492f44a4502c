// Whether the ranks of this machine fit into its memory, before any of them starts: the kernel ends a process that goes beyond
// it, or swaps for minutes, without a word to the user. What a rank takes are its two arenas (executor/arena.h); a first
// bound, the live bytes of the schedule, spares the planning of what is far too large.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/machine/memory.h"
#include "schedule/ir.h"

namespace orrery::runtime {

struct MemoryNeed {
  std::int64_t bytes = 0;       // of all ranks together
  std::int64_t worst_rank = 0;  // and its bytes
  std::int64_t worst_bytes = 0;
};
// Of these ranks.
MemoryNeed live_need(const schedule::Schedule& schedule, const std::vector<std::int64_t>& ranks);
MemoryNeed arena_need(const schedule::Schedule& schedule, const std::vector<std::int64_t>& ranks, bool in_double);

std::vector<std::int64_t> all_ranks(const schedule::Schedule& schedule);

// Throws WorldError where `ranks`, which share this memory, need more than is available.
void require_memory(const schedule::Schedule& schedule, const std::vector<std::int64_t>& ranks, bool in_double,
                    const MemoryNow& memory, const std::string& scenario);

}  // namespace orrery::runtime
