// The order in which workloads are visited, with a law in place of a machine and a clock that the law moves.
#include "runtime/calibrate/kernel_phase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/runtime/calibrate/scratch_directory.h"
#include "tests/runtime/calibrate/tiny_scenario.h"

namespace orrery::runtime {
namespace {

using testing::ElementsAre;

// Every op of every program takes 1 us an operand alone and twice that busy; each visit takes 10 s of the
// clock.
class Law final : public StepMeasurer {
 public:
  std::vector<KernelTiming> visit(const Workload& workload, const VisitLength&) override {
    visited.push_back(workload.name);
    now += 10.0;
    if (stop_at > 0 && visited.size() == stop_at) stop.store(true);
    std::vector<KernelTiming> timings;
    for (std::uint32_t p = 0; p < workload.schedule->programs.size(); ++p) {
      const schedule::Program& program = workload.schedule->programs[p];
      for (std::uint32_t op = 0; op < program.ops.size(); ++op) {
        if (!schedule::has_kernel_key(program.ops[op].kind)) continue;
        const double seconds = 1e-6 * program.ops[op].view_count;
        for (int i = 0; i < repetitions; ++i) {
          const double off = noisy ? 1.0 + 0.2 * (i % 3) : 1.0;
          timings.push_back({p, op, seconds, false, false});
          timings.push_back({p, op, 2.0 * seconds * off, true, false});
        }
        timings.push_back({p, op, 1.0, true, true});  // lost its core
      }
    }
    return timings;
  }

  std::vector<std::string> visited;
  double now = 0.0;
  std::size_t stop_at = 0;
  int repetitions = 4;
  bool noisy = false;
  std::atomic<bool> stop{false};
};

struct Fixture {
  ScratchDirectory directory;
  std::vector<Workload> workloads = {{"one", tiny_schedule(1, "")}, {"two", tiny_schedule(2, R"("tp": 2)")}};
  Progress progress{false};

  // What was visited.
  std::vector<std::string> run(Law& law, double budget_s, JournalUse use = JournalUse::begin_anew) {
    Journal journal(directory.file("j"), "id", use);
    KernelPhase phase(workloads, journal);
    law.visited.clear();
    phase.run(
        law, {.budget_s = budget_s, .visit = {}, .most_passes = 4}, [&] { return law.now; }, law.stop,
        progress);
    return law.visited;
  }
};

TEST(KernelPhase, PassesGoOverAllUntilTheyAreSettled) {
  Fixture f;
  Law law;
  EXPECT_THAT(f.run(law, 1e6), ElementsAre("one", "two", "one", "two"));
}

TEST(KernelPhase, WhatIsNotSettledIsVisitedInAllPasses) {
  Fixture f;
  Law law;
  law.noisy = true;
  EXPECT_EQ(f.run(law, 1e6).size(), 8U);
}

TEST(KernelPhase, TheBudgetEndsIt) {
  Fixture f;
  Law law;
  law.noisy = true;
  EXPECT_THAT(f.run(law, 25.0), ElementsAre("one", "two", "one"));
}

TEST(KernelPhase, AnInterruptedOneGoesOnWhereItWas) {
  Fixture f;
  Law law;
  law.stop_at = 2;  // while the second is visited, which is then visited again
  EXPECT_THAT(f.run(law, 1e6), ElementsAre("one", "two"));
  Law next;
  EXPECT_THAT(f.run(next, 1e6), ElementsAre("two", "one", "two"));
  Law last;
  EXPECT_THAT(f.run(last, 1e6), ElementsAre());
}

TEST(KernelPhase, MediansAreThoseOfTheLaw) {
  Fixture f;
  Law law;
  f.run(law, 1e6);
  Journal journal(f.directory.file("j"), "id", JournalUse::keep);
  const KernelPhase phase(f.workloads, journal);
  EXPECT_EQ(phase.visited(), 2U);
  EXPECT_EQ(phase.visits(), 4);
  const schedule::Schedule& s = *f.workloads.front().schedule;
  KernelCatalog expected;
  const std::vector<std::uint32_t> of_op = expected.add(s, s.programs.front());
  for (std::size_t op = 0; op < of_op.size(); ++op) {
    if (of_op[op] == kNoKernel || s.programs.front().ops[op].kind != schedule::OpKind::gemm) continue;
    const TimedKernel& k = phase.kernels().all()[of_op[op]];
    const double seconds = 1e-6 * s.programs.front().ops[op].view_count;
    EXPECT_NEAR(k.alone.summary().seconds, seconds, 1e-9);
    EXPECT_NEAR(k.busy.summary().seconds, 2.0 * seconds, 1e-9);
    EXPECT_GT(k.busy.summary().outliers, 0);
  }
}

}  // namespace
}  // namespace orrery::runtime
