#include "runtime/run/memory_check.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <numeric>

#include "base/check.h"
#include "runtime/executor/arena.h"
#include "runtime/executor/element.h"
#include "schedule/memory.h"

namespace orrery::runtime {
namespace {

// Ranks of one program need the same.
MemoryNeed sum_over(const schedule::Schedule& schedule, const std::vector<std::int64_t>& ranks,
                    const std::function<std::int64_t(std::int64_t rank)>& bytes_of_rank) {
  std::map<const schedule::Program*, std::int64_t> known;
  MemoryNeed need;
  for (const std::int64_t rank : ranks) {
    const auto [at, is_new] = known.try_emplace(&schedule.program_of(rank), 0);
    if (is_new) at->second = bytes_of_rank(rank);
    need.bytes += at->second;
    if (at->second > need.worst_bytes) need.worst_rank = rank, need.worst_bytes = at->second;
  }
  return need;
}

ElementBytes element_sizes(bool in_double) {
  ElementBytes sizes{};
  for (std::size_t t = 0; t < sizes.size(); ++t) sizes[t] = bytes_of(element_of(static_cast<schedule::DataType>(t), in_double));
  return sizes;
}

void require(const MemoryNeed& need, std::size_t ranks, const MemoryNow& memory, const std::string& scenario) {
  if (need.bytes <= memory.available) return;
  throw WorldError(fmt::format("{}: {} rank{} on this machine need{} {} of memory, and {} of its {} are free\n  rank {} needs the "
                               "most, {}\n  hint: {}",
                               scenario, ranks, ranks == 1 ? "" : "s", ranks == 1 ? "s" : "", gibibytes(need.bytes),
                               gibibytes(memory.available), gibibytes(memory.total), need.worst_rank, gibibytes(need.worst_bytes),
                               kMemoryHint));
}

}  // namespace

MemoryNeed live_need(const schedule::Schedule& schedule, const std::vector<std::int64_t>& ranks) {
  return sum_over(schedule, ranks, [&](std::int64_t rank) {
    const schedule::MemoryPeak peak = schedule::memory_peak(schedule.program_of(rank));
    return (peak.peak + peak.host_peak).count();
  });
}

MemoryNeed arena_need(const schedule::Schedule& schedule, const std::vector<std::int64_t>& ranks, bool in_double) {
  return sum_over(schedule, ranks, [&](std::int64_t rank) {
    const StepPlan plan = plan_step(schedule, rank);
    const ArenaPlan arena = plan_arena(plan, Order(plan), element_sizes(in_double));
    return arena.device_bytes + arena.host_bytes;
  });
}

std::vector<std::int64_t> all_ranks(const schedule::Schedule& schedule) {
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(schedule.world));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

void require_memory(const schedule::Schedule& schedule, const std::vector<std::int64_t>& ranks, bool in_double,
                    const MemoryNow& memory, const std::string& scenario) {
  require(live_need(schedule, ranks), ranks.size(), memory, scenario);
  require(arena_need(schedule, ranks, in_double), ranks.size(), memory, scenario);
}

}  // namespace orrery::runtime
