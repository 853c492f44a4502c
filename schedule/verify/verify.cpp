// The checks, in the order in which one rests on the other: structure; then, on the walk of each program
// (loops cut, verify_walk.h), order of forward and backward, races and lifetimes; then messages and the
// untimed execution of all programs together. Cost: linear in the walked ops of the distinct programs.
#include "schedule/verify.h"

#include <fmt/format.h>

#include "schedule/verify/deadlock.h"
#include "schedule/verify/messages.h"
#include "schedule/verify/order.h"
#include "schedule/verify/races.h"
#include "schedule/verify/structure.h"
#include "schedule/verify/walk.h"

namespace orrery::schedule {
namespace {

constexpr std::uint64_t kMostOps = 20'000'000;

bool is_small_enough(const Schedule& schedule, const Cut& cut, Findings& findings) {
  std::uint64_t ops = 0;
  for (const Program& p : schedule.programs) {
    const std::uint64_t own = walked_ops(p, cut);
    ops += own < kMostOps ? own : kMostOps + 1;
  }
  if (ops <= kMostOps) return true;
  findings.add(
      fmt::format("more than {} ops to walk: too many to check", kMostOps),
      {"loops are only cut where they advance the microbatch, and none of it is named outside of them"});
  return false;
}

}  // namespace

std::vector<Finding> verify(const Schedule& schedule, const VerifyOptions& options) {
  Findings findings;
  check_structure(schedule, findings);
  if (!findings.empty()) return findings.take();
  const Cut cut = choose_cut(schedule, options.repeat_limit);
  if (!is_small_enough(schedule, cut, findings)) return findings.take();
  std::vector<Walk> walks;
  for (const Program& program : schedule.programs) walks.push_back(walk_program(program, cut));
  for (std::size_t p = 0; p < walks.size(); ++p) {
    check_order(schedule, p, walks[p], cut, findings);
    check_races(schedule, p, schedule.program_group.member(0, static_cast<std::int64_t>(p)), walks[p],
                findings);
  }
  Parties parties;
  if (match_messages(schedule, walks, parties, findings)) check_deadlock(parties, options.sends, findings);
  return findings.take();
}

}  // namespace orrery::schedule
