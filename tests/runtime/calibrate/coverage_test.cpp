// A calibration that did not reach what it was given says so. System: the phases over three given scenarios, with a law in
// place of the machine that uses up the budget in the first of them.
#include "runtime/calibrate/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/reservations.h"
#include "runtime/calibrate/calibration_report.h"
#include "tests/runtime/calibrate/scratch_directory.h"
#include "tests/runtime/calibrate/tiny_scenario.h"

namespace orrery::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Each kernel takes 1 us; of four timings `lost` lose their core. A visit takes 10 s of the clock.
class Law final : public StepMeasurer {
 public:
  std::vector<KernelTiming> visit(const Workload& workload, const VisitLength&) override {
    now += 10.0;
    std::vector<KernelTiming> timings;
    for (std::uint32_t p = 0; p < workload.schedule->programs.size(); ++p)
      for (std::uint32_t op = 0; op < workload.schedule->programs[p].ops.size(); ++op)
        if (schedule::has_kernel_key(workload.schedule->programs[p].ops[op].kind))
          for (int i = 0; i < 4; ++i) timings.push_back({p, op, 1e-6, true, i < lost});
    return timings;
  }
  double now = 0.0;
  int lost = 0;
};

// "two" has kernels of its own, "the same" those of "one".
Grid three_scenarios() {
  Grid grid;
  grid.workloads = {{"one", tiny_schedule(1, ""), true},
                    {"two", tiny_schedule(2, R"("tp": 2)"), true},
                    {"the same", tiny_schedule(1, ""), true},
                    {"around one", tiny_schedule(2, R"("tp": 2)"), false}};
  grid.transfers = {{hardware::TransferOperation::all_reduce, 2}};
  return grid;
}

struct Fixture {
  ScratchDirectory directory;
  Grid grid = three_scenarios();
  Law law;

  Coverage calibrate(double budget_s) {
    Journal journal(directory.file("j"), "id", JournalUse::begin_anew);
    KernelPhase kernels(grid.workloads, journal);
    Progress progress(false);
    const std::atomic<bool> stop{false};
    kernels.run(law, {.budget_s = budget_s, .visit = {}, .most_passes = 1}, [&] { return law.now; }, stop, progress);
    const TransferPhase transfers(grid.transfers, 1024, journal);
    return coverage_of(grid, kernels, transfers);
  }
};

TEST(Coverage, WhatWasNotReachedIsNamedWithWhatToDo) {
  Fixture f;
  f.grid.too_large = {"big.json (a rank needs 99.0 GiB of memory)"};
  const Coverage c = f.calibrate(5.0);
  EXPECT_THAT(c.not_measured, ElementsAre("two"));
  EXPECT_EQ(c.scenarios, 4U);
  const std::string quick = coverage_warnings(c, true), slow = coverage_warnings(c, false);
  EXPECT_THAT(quick, HasSubstr("warning: not measured: 1 of 4 scenarios: two\n  hint: "));
  EXPECT_THAT(quick, HasSubstr("--resume"));
  EXPECT_THAT(quick, HasSubstr("without --quick"));
  EXPECT_THAT(slow, HasSubstr("--resume"));
  EXPECT_THAT(slow, Not(HasSubstr("--quick")));
  EXPECT_THAT(quick, HasSubstr("not measured: messages: all_reduce among 2"));
  EXPECT_THAT(quick, HasSubstr("not measured: too large for this machine: big.json (a rank needs 99.0 GiB of memory)"));
  hardware::Provenance from;
  from.notes = notes_of(c);
  from.notes.emplace_back("something else");
  EXPECT_THAT(hardware::reservations(from), testing::SizeIs(3)) << "what orrery validate repeats";
}

TEST(Coverage, NothingIsSaidWhereAllWasMeasured) {
  Fixture f;
  f.grid.transfers.clear();
  const Coverage c = f.calibrate(1e6);
  EXPECT_THAT(notes_of(c), IsEmpty());
  EXPECT_EQ(coverage_warnings(c, true), "");
}

TEST(Coverage, ABusyMachineIsTold) {
  Fixture f;
  f.grid.transfers.clear();
  f.law.lost = 1;
  const Coverage c = f.calibrate(1e6);
  EXPECT_DOUBLE_EQ(c.lost_core_share, 0.25);
  EXPECT_THAT(notes_of(c), ElementsAre("busy machine: 25 % of the kernels' timings lost their core to another program"));
}

TEST(Coverage, AMedianThatIsNotKnownIsNoPercentage) {
  Calibration c{.name = "here", .machine = this_machine()};
  add_notes({}, {.workloads = 87, .visited = 7, .visits = 7, .uncertainty = 1.0}, {}, c);
  EXPECT_THAT(c.kernels.provenance.notes, testing::Contains(HasSubstr("7 steps of 87 visited, 7 visits; medians not known")));
  add_notes({}, {.workloads = 87, .visited = 87, .visits = 90, .uncertainty = 0.02}, {}, c);
  EXPECT_THAT(c.kernels.provenance.notes, testing::Contains(HasSubstr("medians known to 2.0 % of a step")));
}

TEST(Progress, WithoutATerminalItIsALineAPhase) {
  testing::internal::CaptureStderr();
  Progress progress(true);
  progress.phase("kernels of 12 steps, up to 24 s");
  progress.show("kernels", 0.5, "pass 1: one");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "calibrate: kernels of 12 steps, up to 24 s\n");
}

}  // namespace
}  // namespace orrery::runtime
