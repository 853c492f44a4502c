// From scenario files to what is performed: shorter, with the same kernels, and with others around them.
#include "runtime/calibrate/scenario_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "runtime/calibrate/kernel_catalog.h"
#include "schedule/memory.h"
#include "tests/runtime/calibrate/scratch_directory.h"
#include "tests/runtime/calibrate/tiny_scenario.h"

namespace orrery::runtime {
namespace {

using hardware::TransferOperation;
using testing::Contains;
using testing::HasSubstr;

constexpr std::int64_t kPlenty = std::int64_t{1} << 40;

std::set<std::string> kernels_of(const schedule::Schedule& s) {
  KernelCatalog catalog;
  for (const schedule::Program& program : s.programs) catalog.add(s, program);
  std::set<std::string> names;
  for (const TimedKernel& k : catalog.all()) {
    std::string name = k.key.name;
    for (std::size_t d = 0; d < k.key.dim_count; ++d) name += fmt::format(" {}", k.key.dims[d]);
    names.insert(std::move(name));
  }
  return names;
}

std::int64_t ops_of(const schedule::Schedule& s) {
  std::int64_t ops = 0;
  schedule::for_each_call(s.programs.front(), ~0U,
                          [&](const schedule::Call& call, std::uint32_t, std::uint32_t) {
                            ops += s.programs.front().block(call).op_count;
                          });
  return ops;
}

TEST(ScenarioGrid, AScenarioIsShortenedAndKeepsItsKernels) {
  const ScratchDirectory directory;
  directory.write("s.json", tiny_scenario(2, R"("pp": 2)", 32, 8));
  const schedule::Schedule whole =
      schedule::compile(scenarios::load_scenarios({directory.file("s.json")}, {}).front());
  const Grid grid =
      make_grid({.files = {directory.file("s.json")}, .sets = {}, .ranks = 2, .most_bytes = kPlenty});
  const schedule::Schedule& cut = *grid.workloads.front().schedule;
  EXPECT_EQ(kernels_of(cut), kernels_of(whole));
  EXPECT_LT(ops_of(cut), ops_of(whole) / 3);
}

TEST(ScenarioGrid, WhatWouldFitIntoTheCachesIsNotShortened) {
  const ScratchDirectory directory;
  directory.write("s.json", tiny_scenario(1, "", 32, 8));
  const schedule::Schedule whole =
      schedule::compile(scenarios::load_scenarios({directory.file("s.json")}, {}).front());
  const Grid grid = make_grid({.files = {directory.file("s.json")},
                               .sets = {},
                               .ranks = 1,
                               .cache_bytes = kPlenty,
                               .most_bytes = kPlenty});
  EXPECT_EQ(ops_of(*grid.workloads.front().schedule), ops_of(whole));
}

// What a run of a real model finds in memory must not be found in the caches because the scenario is small.
TEST(ScenarioGrid, WhatFitsIntoTheCachesGetsMoreLayers) {
  const ScratchDirectory directory;
  directory.write("s.json", tiny_scenario(1, "", 32, 8));
  const schedule::Schedule whole =
      schedule::compile(scenarios::load_scenarios({directory.file("s.json")}, {}).front());
  const std::int64_t bytes = schedule::memory_peak(whole.programs.front()).peak.count();
  const Grid grid = make_grid({.files = {directory.file("s.json")},
                               .sets = {},
                               .ranks = 1,
                               .cache_bytes = 2 * bytes,
                               .most_bytes = kPlenty});
  const schedule::Schedule& grown = *grid.workloads.front().schedule;
  EXPECT_EQ(kernels_of(grown), kernels_of(whole));
  EXPECT_GE(schedule::memory_peak(grown.programs.front()).peak.count(), 2 * bytes);
}

// Each variation brings something new, and together they enclose widths and lengths that nobody named.
TEST(ScenarioGrid, VariationsEncloseOtherSizes) {
  const ScratchDirectory directory;
  directory.write("s.json", tiny_scenario(2, R"("dp": 2)", 32));
  directory.write("other.json", tiny_scenario(2, R"("tp": 2)", 48));
  const Grid grid =
      make_grid({.files = {directory.file("s.json")}, .sets = {}, .ranks = 2, .most_bytes = kPlenty});
  EXPECT_GT(grid.workloads.size(), 6U);
  KernelCatalog measured;
  for (const Workload& w : grid.workloads) {
    const std::size_t before = measured.all().size();
    for (const schedule::Program& program : w.schedule->programs) measured.add(*w.schedule, program);
    EXPECT_GT(measured.all().size(), before) << w.name << " adds no kernel";
  }
  const schedule::Schedule other = schedule::compile(
      scenarios::load_scenarios({directory.file("other.json")}, {"training.sequence_length=24"}).front());
  KernelCatalog wanted;
  for (const schedule::Program& program : other.programs) wanted.add(other, program);
  for (const TimedKernel& k : wanted.all()) {
    if (!k.key.name.starts_with("gemm") && !k.key.name.starts_with("norm")) continue;
    for (std::size_t d = 0; d < k.key.dim_count; ++d) {
      const auto encloses = [&](bool above) {
        return std::any_of(measured.all().begin(), measured.all().end(), [&](const TimedKernel& m) {
          return m.key.name == k.key.name &&
                 (above ? m.key.dims[d] >= k.key.dims[d] : m.key.dims[d] <= k.key.dims[d]);
        });
      };
      EXPECT_TRUE(encloses(true) && encloses(false))
          << k.key.name << " dimension " << d << ": " << k.key.dims[d];
    }
  }
}

TEST(ScenarioGrid, MessagesOfTheScenariosAreCollected) {
  const ScratchDirectory directory;
  directory.write("tp.json", tiny_scenario(2, R"("tp": 2)"));
  directory.write("pp.json", tiny_scenario(2, R"("pp": 2)"));
  directory.write("zero.json", tiny_scenario(4, R"("dp": 4, "zero": 1)"));
  const Grid grid =
      make_grid({.files = {directory.file("tp.json"), directory.file("pp.json"), directory.file("zero.json")},
                 .sets = {},
                 .ranks = 2,
                 .most_bytes = kPlenty});
  EXPECT_EQ(grid.world, 4);
  EXPECT_THAT(grid.transfers, Contains(std::pair(TransferOperation::all_reduce, std::int64_t{2})));
  EXPECT_THAT(grid.transfers, Contains(std::pair(TransferOperation::send_recv, std::int64_t{2})));
  EXPECT_THAT(grid.transfers, Contains(std::pair(TransferOperation::reduce_scatter, std::int64_t{4})));
  EXPECT_THAT(grid.transfers, Contains(std::pair(TransferOperation::all_gather, std::int64_t{4})));
}

// The cluster file is what calibration is about to write.
TEST(ScenarioGrid, AClusterThatIsNotThereYetIsStoodInFor) {
  const ScratchDirectory directory;
  directory.write("s.json", R"({"cluster": "not-yet.json", "parallel": {"dp": 2},
      "model": {"layers": 2, "hidden": 32, "heads": 4, "vocab": 64, "max_positions": 64},
      "training": {"global_batch": 4, "micro_batch": 2, "sequence_length": 16, "precision": "fp32"}})");
  const Grid grid =
      make_grid({.files = {directory.file("s.json")}, .sets = {}, .ranks = 2, .most_bytes = kPlenty});
  EXPECT_EQ(grid.world, 2);
  EXPECT_THAT(grid.notes, Contains(HasSubstr("its cluster cannot be read yet")));
  // With a number of ranks that the plan does not divide, the file's own error is told.
  try {
    make_grid({.files = {directory.file("s.json")}, .sets = {}, .ranks = 3, .most_bytes = kPlenty});
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("not-yet.json"));
  }
}

TEST(ScenarioGrid, ErrorsOfAllFilesAreTold) {
  const ScratchDirectory directory;
  directory.write("a.json", "{");
  directory.write("b.json", R"({"model": 7})");
  try {
    make_grid(
        {.files = {directory.file("a.json"), directory.file("b.json")}, .sets = {}, .most_bytes = kPlenty});
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("a.json"));
    EXPECT_THAT(error.what(), HasSubstr("b.json"));
  }
}

TEST(ScenarioGrid, WhatNeedsTooMuchMemoryIsLeftOutAndSaid) {
  const ScratchDirectory directory;
  directory.write("s.json", tiny_scenario(1, ""));
  const Grid grid = make_grid({.files = {directory.file("s.json")}, .sets = {}, .most_bytes = 1000});
  EXPECT_TRUE(grid.workloads.empty());
  EXPECT_THAT(grid.notes, Contains(HasSubstr("left out")));
  EXPECT_THAT(grid.too_large, Contains(HasSubstr("s.json (a rank needs ")));
}

TEST(ScenarioGrid, FingerprintTellsSchedulesApart) {
  const ScratchDirectory directory;
  directory.write("s.json", tiny_scenario(1, ""));
  const GridRequest request{.files = {directory.file("s.json")}, .sets = {}, .most_bytes = kPlenty};
  GridRequest longer = request;
  longer.sets = {"training.sequence_length=32"};
  EXPECT_EQ(make_grid(request).fingerprint, make_grid(request).fingerprint);
  EXPECT_NE(make_grid(request).fingerprint, make_grid(longer).fingerprint);
}

TEST(WalkingRanks, EveryProgramIsWalkedByAsManyAtOnce) {
  const auto pipeline = tiny_schedule(2, R"("pp": 2)");
  EXPECT_THAT(walking_ranks(*pipeline, 2), testing::ElementsAre(testing::ElementsAre(0, 1)));
  EXPECT_THAT(walking_ranks(*pipeline, 1),
              testing::ElementsAre(testing::ElementsAre(0), testing::ElementsAre(1)));
  const auto data = tiny_schedule(4, R"("dp": 4)");
  EXPECT_THAT(walking_ranks(*data, 2), testing::ElementsAre(testing::ElementsAre(0, 1)));
  const auto single = tiny_schedule(1, "");
  EXPECT_THAT(walking_ranks(*single, 2), testing::ElementsAre(testing::ElementsAre(0, 0)));
  EXPECT_THAT(one_of_each_program(*pipeline), testing::ElementsAre(0, 1));
  EXPECT_THAT(one_of_each_program(*data), testing::ElementsAre(0));
}

}  // namespace
}  // namespace orrery::runtime
