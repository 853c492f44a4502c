// Is the proof sharp? When an op of a compiled schedule waits for nothing any more, some order of the streams must show
// it, unless another path orders it anyway (what follows the host's read of the gradient norm, for one). Here: every op
// that waits, of a plan that overlaps everything; at least two of three must be noticed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schedule/compile.h"
#include "schedule/verify.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"

namespace orrery::interpreter {
namespace {

using scenarios::Scenario;

Scenario overlapped_plan() {
  Scenario s = plain_scenario(tiny_llama());
  s.parallel.tp = s.parallel.pp = s.parallel.dp = 2;
  s.parallel.sequence_parallel = true;
  s.parallel.zero = 3;
  s.training.micro_batch = 1;
  s.training.clip_gradient_norm = 0.1;
  s.overlap.gradient_reduce = s.overlap.pipeline = s.overlap.tensor_backward = true;
  resolve(s);
  return s;
}

bool runs_right(const schedule::Schedule& schedule, const Outcome& reference, const RunOptions& options) {
  try {
    Executor executor(schedule, options);
    executor.run();
    const Outcome outcome{executor.losses(), collect(schedule, executor, State::gradients),
                          collect(schedule, executor, State::master)};
    return difference(outcome, reference).empty();
  } catch (const ScheduleError&) {
    return false;
  }
}

bool is_noticed(const schedule::Schedule& schedule, const Outcome& reference) {
  for (const Order order : {Order::rank_first, Order::rank_last, Order::round_robin})
    if (!runs_right(schedule, reference, {.order = order, .seed = 1, .steps = 2})) return true;
  for (std::uint64_t seed = 0; seed < 4; ++seed)
    if (!runs_right(schedule, reference, {.order = Order::random, .seed = seed, .steps = 2})) return true;
  return false;
}

// Op `op` of program `p` waits for nothing.
schedule::Schedule without_waits(schedule::Schedule schedule, std::size_t p, std::size_t op) {
  schedule.programs[p].ops[op].wait_count = 0;
  return schedule;
}

std::string where(const schedule::Program& program, const schedule::Op& op) {
  const schedule::Block& block = program.block_of(op);
  return fmt::format("{} {} op {} {}\n", program.name, block.name, &op - &program.ops[block.first_op],
                     schedule::name(op.kind));
}

TEST(DroppedWaits, AreNoticed) {
  const Scenario scenario = overlapped_plan();
  const schedule::Schedule schedule = schedule::compile(scenario);
  const Outcome reference = reference_outcome(scenario, 2);
  ASSERT_FALSE(is_noticed(schedule, reference));
  ASSERT_TRUE(schedule::verify(schedule).empty());
  int noticed = 0, missed = 0;
  std::string text;
  for (std::size_t p = 0; p < schedule.programs.size(); ++p)
    for (std::size_t i = 0; i < schedule.programs[p].ops.size(); ++i) {
      const schedule::Op& op = schedule.programs[p].ops[i];
      if (op.wait_count == 0) continue;
      const schedule::Schedule broken = without_waits(schedule, p, i);
      const bool found = is_noticed(broken, reference);
      ++(found ? noticed : missed);
      if (!found) text += where(schedule.programs[p], op);
      // What goes wrong when it runs, verify says before.
      EXPECT_TRUE(!found || !schedule::verify(broken).empty()) << where(schedule.programs[p], op);
    }
  EXPECT_GT(noticed, 2 * missed) << text;
}

}  // namespace
}  // namespace orrery::interpreter
