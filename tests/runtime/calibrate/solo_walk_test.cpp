// Steps of real kernels, performed by one rank alone: every kernel is timed, messages are stood in for, and
// what kernels find in memory are numbers.
#include "runtime/calibrate/solo_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/calibrate/local_messages.h"
#include "runtime/calibrate/walk_measurer.h"
#include "runtime/cpu/cpu_device.h"
#include "schedule/kernel_key.h"
#include "schedule/text.h"
#include "tests/runtime/calibrate/tiny_scenario.h"

namespace orrery::runtime {
namespace {

constexpr const char* kPlans[] = {R"("dp": 2)", R"("dp": 2, "zero": 1)",  R"("dp": 2, "zero": 3)",
                                  R"("tp": 2)", R"("tp": 2, "sp": true)", R"("pp": 2)"};

TEST(SoloWalk, TimesEveryKernelOfEveryPlan) {
  for (const char* plan : kPlans) {
    const auto s = tiny_schedule(2, plan);
    const auto tokens = pattern_tokens(64, 1);
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      SoloWalk walk(*s, rank, *tokens);
      for (int step = 0; step < 2; ++step) {
        std::vector<std::uint32_t> timed, expected;
        walk.step([&](const SoloWalk::Timing& t) {
          timed.push_back(t.op);
          EXPECT_GT(t.ran_ns, 0);
          return true;
        });
        for (std::uint32_t op = 0; op < walk.plan().ops.size(); ++op)
          if (schedule::has_kernel_key(walk.plan().ops[op].op->kind)) expected.push_back(op);
        EXPECT_EQ(timed, expected) << plan << ", rank " << rank;
      }
    }
  }
}

TEST(SoloWalk, EndsWhereItIsTold) {
  const auto s = tiny_schedule(1, "");
  const auto tokens = pattern_tokens(64, 1);
  SoloWalk walk(*s, 0, *tokens);
  int left = 5;
  walk.step([&](const SoloWalk::Timing&) { return --left > 0; });
  EXPECT_EQ(left, 0);
}

// x and y of one communication op of rank `rank` among two, both `x` elements long where the text does not
// say more.
std::vector<float> stood_in(const std::string& op, std::int64_t rank) {
  const std::string text =
      "world 2\ngroup data stride 1 size 2\ngroup pipe stride 1 size 2\nprograms stride 2 size 1\nprogram p "
      "{\n"
      "buffer x fp32[4] persistent\nbuffer y fp32[8] persistent\n" +
      op + "\n}\n";
  Diagnostics diagnostics;
  const schedule::Schedule s =
      schedule::parse(std::make_shared<SourceFile>(SourceFile{"test", text}), diagnostics);
  diagnostics.throw_if_errors();
  const StepPlan plan = plan_step(s, rank);
  const auto tokens = pattern_tokens(64, 1);
  const CpuDevice device(cpu_job(s, *tokens, false));
  std::vector<float> x = {1, 2, 3, 4}, y(8, std::numeric_limits<float>::quiet_NaN());
  std::vector<std::byte*> data;
  for (const PlannedView& v : plan.views_of(plan.ops[0]))
    data.push_back(reinterpret_cast<std::byte*>(
        plan.buffer(plan.allocations[v.allocation]).name == "x" ? x.data() : y.data()));
  stand_in_for_message({&plan, 0, 0, data}, device);
  return y;
}

TEST(LocalMessages, WriteNumbersWhereAMessageWould) {
  using testing::ElementsAre;
  EXPECT_THAT(stood_in("all_gather x:x y=y in data on data", 1), ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));
  const std::vector<float> scattered = stood_in("reduce_scatter x:x y=y[2] in data on data", 1);
  EXPECT_EQ(scattered[0], 3);
  EXPECT_EQ(scattered[1], 4);
  EXPECT_TRUE(std::isnan(scattered[2]));
  const std::vector<float> exchanged = stood_in("all_to_all x:x y=y[4] in data on data", 0);
  EXPECT_THAT((std::vector<float>(exchanged.begin(), exchanged.begin() + 4)), ElementsAre(1, 2, 3, 4));
  for (const float value : stood_in("recv y=y from -1", 1)) EXPECT_LE(std::abs(value), 0.1F);
}

TEST(WalkMeasurer, MeasuresBusyAndAlone) {
  const Workload workload{"tiny", tiny_schedule(2, R"("pp": 2)")};
  const std::atomic<bool> stop{false};
  WalkMeasurer measurer(2, stop);
  const std::vector<KernelTiming> timings = measurer.visit(workload, {.busy_s = 0.02, .alone_s = 0.01});
  std::set<std::tuple<std::uint32_t, std::uint32_t, bool>> seen;
  for (const KernelTiming& t : timings) {
    EXPECT_GT(t.seconds, 0.0);
    seen.insert({t.program, t.op, t.busy});
  }
  for (std::uint32_t p = 0; p < 2; ++p)
    for (std::uint32_t op = 0; op < workload.schedule->programs[p].ops.size(); ++op) {
      if (!schedule::has_kernel_key(workload.schedule->programs[p].ops[op].kind)) continue;
      for (const bool busy : {false, true})
        EXPECT_TRUE(seen.contains({p, op, busy})) << p << " " << op << " " << busy;
    }
}

TEST(WalkMeasurer, StopsWhenItIsTold) {
  const Workload workload{"tiny", tiny_schedule(1, "")};
  const std::atomic<bool> stop{true};
  EXPECT_TRUE(WalkMeasurer(2, stop).visit(workload, {.busy_s = 1e6, .alone_s = 1e6}).empty());
}

}  // namespace
}  // namespace orrery::runtime
