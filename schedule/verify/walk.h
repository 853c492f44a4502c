// A program unrolled for checking: which instances its calls bind, its streams, what each op comes after.
//
// Loops over microbatches are cut, so that the work does not grow with their number. A cut leaves out `skip`
// consecutive microbatches, the same for every program: those behind the last microbatch that any program
// names before its steady state (`keep_until`) and before the first that any names after it (`resume_from`).
// Repeats that run across that gap make skip / step fewer iterations; microbatches from resume_from on are
// renumbered by -skip. What remains is the schedule that the same builders make for `skip` microbatches
// fewer, so a message, a count or a slot that is wrong in the whole is wrong in it. Kept are at least
// `repeat_limit` iterations of every repeat, and where slots are reused enough for every slot to be reused at
// least once.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "schedule/ir.h"

namespace orrery::schedule {

struct Cut {
  std::uint32_t keep_until = 0;
  std::uint32_t resume_from = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t skip = 0;  // 0: nothing is cut
};
Cut choose_cut(const Schedule& schedule, std::uint32_t repeat_limit);

// How many ops the walk of a program has.
std::uint64_t walked_ops(const Program& program, const Cut& cut);

inline constexpr std::uint32_t kNoStep = std::numeric_limits<std::uint32_t>::max();

struct WalkedCall {
  std::uint32_t call = 0;
  std::uint32_t microbatch = 0;  // after renumbering
  std::uint32_t shown = 0;       // as the schedule names it
  std::uint32_t first_id = 0;    // of its formals' instances, in Walk::ids
};

// One op of the host's list.
struct Step {
  std::uint32_t op = 0;
  std::uint32_t call = 0;         // index into Walk::calls
  std::uint32_t first_after = 0;  // steps whose events it awaits, in Walk::after
  std::uint32_t after_count = 0;
  std::uint32_t gate = kNoStep;  // the last host_wait before it: it is not issued earlier
};

struct InstanceName {
  std::uint32_t buffer = 0, instance = 0;
};

struct Walk {
  const Program* program = nullptr;
  std::vector<WalkedCall> calls;
  std::vector<Step> steps;
  std::vector<std::uint32_t> after;
  std::vector<std::uint32_t> ids;       // dense numbers of the instances that formals are bound to
  std::vector<InstanceName> instances;  // by dense number
  std::array<std::vector<std::uint32_t>, kStreams> streams;  // steps, in order

  const Op& op(std::uint32_t step) const { return program->ops[steps[step].op]; }
  const WalkedCall& call(std::uint32_t step) const { return calls[steps[step].call]; }
  std::uint32_t id(std::uint32_t step, std::uint16_t formal) const {
    return ids[call(step).first_id + formal];
  }
  std::string instance_text(std::uint32_t id) const;  // "hidden[3]"
  std::string describe(std::uint32_t step) const;     // "send (send_forward, unit 2, microbatch 1)"
};
Walk walk_program(const Program& program, const Cut& cut);

}  // namespace orrery::schedule
