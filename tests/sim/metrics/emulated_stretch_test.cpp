// `--emulated-stretch`: what is predicted for a run whose kernels are waits. Each kernel is longer by the factor, nothing
// else is, and nothing shares cores or links with anything.
#include <gtest/gtest.h>

#include "schedule/trace_ops.h"
#include "sim/metrics/simulated_trace.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

using testing::Gpt;
using testing::gpt;

struct Traced {
  schedule::Schedule schedule;
  schedule::Trace trace;
  double step_s = 0.0;
};

Traced traced(const scenarios::Scenario& s, double stretch) {
  PredictOptions options = with_steady_trace({});
  options.emulated_stretch = stretch;
  const Prediction p = predict(s, options);
  return {p.schedule, to_trace(s, p), p.simulation.step_time.seconds()};
}

Gpt two_stages_of_two() {
  Gpt g;
  g.gpus = 8;
  g.pp = 2;
  g.tp = 2;
  g.global_batch = 16;
  return g;
}

TEST(EmulatedStretch, KernelsAreLongerByTheFactorAndMessagesAreNot) {
  const Traced one = traced(gpt(two_stages_of_two()), 1.0), ten = traced(gpt(two_stages_of_two()), 10.0);
  ASSERT_EQ(one.trace.ranks.size(), ten.trace.ranks.size());
  std::size_t kernels = 0, messages = 0;
  for (std::size_t i = 0; i < one.trace.ranks.size(); ++i) {
    const schedule::Program& program = one.schedule.program_of(one.trace.ranks[i].rank);
    const std::vector<schedule::TracedOp> ops = schedule::traced_ops(program);
    ASSERT_EQ(one.trace.ranks[i].records.size(), ten.trace.ranks[i].records.size());
    for (std::size_t r = 0; r < one.trace.ranks[i].records.size(); ++r) {
      const schedule::TraceRecord &a = one.trace.ranks[i].records[r], &b = ten.trace.ranks[i].records[r];
      const schedule::OpKind kind = program.ops[ops[a.op].op].kind;
      const std::int64_t before = a.end_ns - a.begin_ns, after = b.end_ns - b.begin_ns;
      if (schedule::is_compute(kind)) {
        EXPECT_NEAR(static_cast<double>(after), 10.0 * static_cast<double>(before), 11.0) << schedule::name(kind);
        ++kernels;
      } else if (schedule::is_communication(kind)) {
        EXPECT_NEAR(static_cast<double>(after), static_cast<double>(before), 2.0) << schedule::name(kind);
        ++messages;
      }
    }
  }
  EXPECT_GT(kernels, 100U);
  EXPECT_GT(messages, 100U);
  EXPECT_GT(ten.step_s, 5.0 * one.step_s);
}

// Gradients are reduced beside the backward: kernels and collectives share SMs, unless they are waits.
TEST(EmulatedStretch, NothingIsShared) {
  Gpt g;
  g.gpus = 8;
  g.layers = 8;
  g.global_batch = 16;
  g.rest = R"(, "overlap": { "gradient_reduce": true })";
  const Traced shared = traced(gpt(g), 0.0), apart = traced(gpt(g), 1.0);
  EXPECT_LT(apart.step_s, shared.step_s);
}

}  // namespace
}  // namespace orrery::sim
