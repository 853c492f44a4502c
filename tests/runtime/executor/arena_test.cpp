// Plans and arenas of many schedules: places never clash under any timing that streams and waits allow, live bytes are
// those of schedule/memory.h, and little is lost to packing.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "runtime/executor/arena.h"
#include "schedule/compile.h"
#include "schedule/memory.h"
#include "tests/interpreter/named_plans.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/random_plan.h"
#include "tests/interpreter/tiny_models.h"

namespace orrery::runtime {
namespace {

using interpreter::NamedPlan;

ElementBytes sizes() {
  ElementBytes bytes{};
  for (std::size_t t = 0; t < bytes.size(); ++t) bytes[t] = schedule::size_of(static_cast<schedule::DataType>(t));
  return bytes;
}

struct Range {
  std::int64_t begin = 0, end = 0;
  bool host = false;
  bool meets(const Range& o) const { return host == o.host && begin < o.end && o.begin < end; }
};

Range range_of(const StepPlan& plan, const ArenaPlan& arena, std::size_t allocation) {
  const schedule::Buffer& b = plan.buffer(plan.allocations[allocation]);
  return {arena.offset[allocation], arena.offset[allocation] + b.bytes().count(), b.on_host};
}

// Independent of how the arena was planned: every pair of allocations.
void expect_no_clash(const StepPlan& plan, const ArenaPlan& arena, const Order& with_waits) {
  for (std::size_t i = 0; i < plan.allocations.size(); ++i)
    for (std::size_t j = i + 1; j < plan.allocations.size(); ++j) {
      const Allocation &a = plan.allocations[i], &b = plan.allocations[j];
      if (!range_of(plan, arena, i).meets(range_of(plan, arena, j))) continue;
      ASSERT_FALSE(a.persistent || b.persistent) << plan.buffer(a).name << " and " << plan.buffer(b).name;
      const bool apart = with_waits.ends_before(a.freed_by, b.allocated_by) || with_waits.ends_before(b.freed_by, a.allocated_by);
      ASSERT_TRUE(apart) << plan.buffer(a).name << " and " << plan.buffer(b).name;
      ASSERT_TRUE(with_waits.ended_in_previous_step(a.freed_by, b.allocated_by)) << describe(plan, b.allocated_by);
      ASSERT_TRUE(with_waits.ended_in_previous_step(b.freed_by, a.allocated_by)) << describe(plan, a.allocated_by);
    }
}

struct Packing {
  std::int64_t live = 0, taken = 0;
};

Packing expect_sound(const scenarios::Scenario& scenario) {
  const schedule::Schedule s = schedule::compile(scenario);
  Packing packing;
  for (std::int64_t rank = 0; rank < s.world; ++rank) {
    StepPlan plan = plan_step(s, rank);
    const ArenaPlan arena = plan_arena(plan, Order(plan), sizes());
    add_waits(plan, arena.waits);
    expect_no_clash(plan, arena, Order(plan));
    const schedule::MemoryPeak peak = schedule::memory_peak(s.program_of(rank));
    EXPECT_EQ(arena.peak_live_bytes, peak.peak.count());
    EXPECT_EQ(arena.peak_host_bytes, peak.host_peak.count());
    EXPECT_GE(arena.device_bytes, arena.peak_live_bytes);
    packing.live += arena.peak_live_bytes;
    packing.taken += arena.device_bytes;
  }
  return packing;
}

class NamedPlans : public testing::TestWithParam<NamedPlan> {};

TEST_P(NamedPlans, ArenaIsSound) {
  for (const models::Architecture& a : {interpreter::tiny_gpt(), interpreter::tiny_llama()}) {
    scenarios::Scenario scenario = interpreter::plain_scenario(a);
    GetParam().set(scenario);
    interpreter::resolve(scenario);
    expect_sound(scenario);
  }
}

std::string name_of(const testing::TestParamInfo<NamedPlan>& info) { return test_name(info.param); }
INSTANTIATE_TEST_SUITE_P(Basic, NamedPlans, testing::ValuesIn(interpreter::basic_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Recompute, NamedPlans, testing::ValuesIn(interpreter::recompute_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Tensor, NamedPlans, testing::ValuesIn(interpreter::tensor_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Pipeline, NamedPlans, testing::ValuesIn(interpreter::pipeline_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Schedules, NamedPlans, testing::ValuesIn(interpreter::schedule_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Data, NamedPlans, testing::ValuesIn(interpreter::data_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Combined, NamedPlans, testing::ValuesIn(interpreter::combined_plans()), name_of);
INSTANTIATE_TEST_SUITE_P(Overlap, NamedPlans, testing::ValuesIn(interpreter::overlap_plans()), name_of);

TEST(RandomPlans, ArenasAreSoundAndLoseLittle) {
  Packing all;
  for (std::uint64_t number = 0; number < 60; ++number) {
    SCOPED_TRACE(number);
    const Packing p = expect_sound(interpreter::random_plan(number));
    all.live += p.live;
    all.taken += p.taken;
  }
  RecordProperty("packing_loss_percent", fmt::format("{:.2f}", 100.0 * static_cast<double>(all.taken - all.live) / static_cast<double>(all.live)));
  EXPECT_LT(static_cast<double>(all.taken), 1.05 * static_cast<double>(all.live));
}

}  // namespace
}  // namespace orrery::runtime
