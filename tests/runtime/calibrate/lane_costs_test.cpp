// Overhead and interference from times that are made up, and once from this machine.
#include "runtime/calibrate/lane_costs.h"

#include <gtest/gtest.h>

#include "runtime/calibrate/probe_schedules.h"

namespace orrery::runtime {
namespace {

TEST(OpOverhead, IsWhatLiesBetweenKernels) {
  ProbeTimes probe;
  probe.times.push_back(
      {{{0, 0, 100}, {100, 150, 250}, {250, 300, 400}}, {{0, 0, 10}, {10, 70, 80}, {80, 120, 130}}});
  EXPECT_NEAR(op_overhead_seconds(probe), 50e-9, 1e-12);
}

TEST(Interference, KernelsInsideOfTransfersAreHeldAgainstThoseOutside) {
  const schedule::Schedule s = interference_probe(2, 3, 1024);
  ProbeTimes probe;
  probe.plans.push_back(plan_step(s, 0));
  const StepPlan& plan = probe.plans.front();
  std::vector<OpTimes> step;
  std::int64_t now = 1000;
  int pairs = 0;
  for (const PlannedOp& op : plan.ops) {
    if (schedule::is_communication(op.op->kind)) {
      step.push_back({0, 0, 0});
      continue;
    }
    const bool product = op.op->kind == schedule::OpKind::gemm,
               addition = op.op->kind == schedule::OpKind::add;
    const std::int64_t length = (product    ? 100
                                 : addition ? 40
                                            : 10) *
                                (pairs == 0 ? 3 : 1);  // the first beside transfers
    step.push_back({now, now, now + length});
    now += length;
    if (addition) ++pairs;
    if (addition && pairs == 1)
      for (OpTimes& t : step)
        if (t.ended == 0) t = {0, 500, now};  // the transfers lasted until here
  }
  probe.times.push_back({step});
  const Interferences found = interference_of(probe);
  EXPECT_EQ(found.product.beside, 1);
  EXPECT_EQ(found.product.apart, 2);
  EXPECT_NEAR(found.product.factor(), 3.0, 1e-6);
  EXPECT_NEAR(found.addition.factor(), 3.0, 1e-6);
}

TEST(LaneCosts, AreMeasuredHere) {
  const double overhead = measure_op_overhead(0.02);
  EXPECT_GT(overhead, 0.0);
  EXPECT_LT(overhead, 1e-2);
  const Interferences beside = measure_interference(2, 0.05);
  EXPECT_GT(beside.product.beside + beside.product.apart, 0);
}

}  // namespace
}  // namespace orrery::runtime
