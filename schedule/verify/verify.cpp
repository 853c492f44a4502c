// The checks, in the order in which one rests on the other: structure; then, on the walk of each program
// (loops cut, verify/walk.h), order of forward and backward, races and lifetimes; then messages and the
// untimed execution of all programs together. Cost: linear in the walked ops of the distinct programs.
#include "schedule/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/verify/deadlock.h"
#include "schedule/verify/messages.h"
#include "schedule/verify/order.h"
#include "schedule/verify/races.h"
#include "schedule/verify/structure.h"
#include "schedule/verify/walk.h"

namespace orrery::schedule {
namespace {

bool is_small_enough(const Schedule& schedule, const Cut& cut, std::uint64_t most_ops, Findings& findings) {
  std::uint64_t ops = 0;
  for (const Program& p : schedule.programs) {
    const std::uint64_t own = walked_ops(p, cut);
    ops += own < most_ops ? own : most_ops + 1;
  }
  if (ops <= most_ops) return true;
  findings.add_unchecked(
      fmt::format("more than {} ops to walk: too many to check", most_ops),
      {"loops are only cut where they advance the microbatch, and none of it is named outside of them"});
  return false;
}

}  // namespace

bool is_sound(const std::vector<Finding>& findings) {
  return std::all_of(findings.begin(), findings.end(), [](const Finding& f) { return f.unchecked; });
}

std::vector<Finding> verify(const Schedule& schedule, const VerifyOptions& options) {
  Findings findings;
  check_structure(schedule, findings);
  if (!findings.empty()) return findings.take();
  const Cut cut = choose_cut(schedule, options.repeat_limit);
  if (!is_small_enough(schedule, cut, options.most_ops, findings)) return findings.take();
  std::vector<Walk> walks;
  for (const Program& program : schedule.programs) walks.push_back(walk_program(program, cut));
  CopyRuns copies;
  for (std::size_t p = 0; p < walks.size(); ++p) {
    check_order(schedule, p, walks[p], cut, copies, findings);
    check_races(schedule, p, schedule.program_group.member(0, static_cast<std::int64_t>(p)), walks[p],
                options.most_atoms, findings);
  }
  check_copies(schedule, copies, cut, findings);
  Parties parties;
  if (match_messages(schedule, walks, parties, findings)) check_deadlock(parties, options.sends, findings);
  return findings.take();
}

}  // namespace orrery::schedule
