// A real calibration, as small as one can be: the kernels of a tiny scenario, one kind of message, and the
// files, which a scenario then names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/diagnostics.h"
#include "runtime/calibrate/calibration_report.h"
#include "runtime/calibrate/command_line.h"
#include "runtime/calibrate/hardware_files.h"
#include "runtime/calibrate/kernel_phase.h"
#include "runtime/calibrate/walk_measurer.h"
#include "tests/runtime/calibrate/scratch_directory.h"
#include "tests/runtime/calibrate/tiny_scenario.h"

namespace orrery::runtime {
namespace {

TEST(Calibration, OfATinyScenarioGivesFilesThatAScenarioCanName) {
  const ScratchDirectory directory;
  const std::vector<Workload> workloads = {{"tiny", tiny_schedule(2, R"("dp": 2)")}};
  const std::atomic<bool> stop{false};
  Progress progress(false);
  Journal journal(directory.file("here.journal"), "id", JournalUse::begin_anew);
  KernelPhase kernels(workloads, journal);
  WalkMeasurer walks(2, stop);
  kernels.run(walks, {.budget_s = 1.0, .visit = {.busy_s = 0.02, .alone_s = 0.01}, .most_passes = 2},
              steady_seconds, stop, progress);
  TransferPhase transfers({{hardware::TransferOperation::all_reduce, 2}}, 65536, journal);
  ProbeMeasurer probes;
  transfers.run(probes, {.budget_s = 0.5, .visit_s = 0.02, .most_passes = 1}, steady_seconds, stop, progress);

  Calibration c{.name = "here", .machine = this_machine(), .ranks = 2, .busy_ranks = 2};
  c.numbers.op_overhead_s = 1e-7;
  c.numbers.ceilings = measure_ceilings(1, 0.05, stop);
  c.kernels.kernels = measured_kernels(kernels.kernels(), 2);
  c.kernels.busy_ranks = 2;
  c.transfers.curves = measured_curves(transfers.curves());
  const Visits visits{.workloads = 1,
                      .visited = kernels.visited(),
                      .visits = kernels.visits(),
                      .uncertainty = kernels.uncertainty(0)};
  add_notes({}, visits, {.machine = "m", .date = "d", .program = "p", .options = "", .notes = {}}, c);
  write_files(directory.path(), hardware_files(c));

  std::string scenario = tiny_scenario(2, R"("dp": 2)");
  const std::string stands_in = unmeasured_cluster(2);
  scenario.replace(scenario.find(stands_in), stands_in.size(), "\"here.json\"");
  directory.write("s.json", scenario);
  const scenarios::Scenario read = scenarios::load_scenarios({directory.file("s.json")}, {}).front();
  const schedule::Schedule s = schedule::compile(read);
  for (const schedule::Program& program : s.programs)
    for (const schedule::Op& op : program.ops) {
      if (!schedule::has_kernel_key(op.kind)) continue;
      const schedule::KernelKey key = schedule::kernel_key(program, op, s.shapes[op.shape]);
      const auto& table = read.cluster.gpu.kernel_table->kernels;
      const auto kernel =
          std::find_if(table.begin(), table.end(), [&](const auto& k) { return k.name == key.name; });
      ASSERT_NE(kernel, table.end()) << key.name;
      EXPECT_TRUE(std::any_of(kernel->points.begin(), kernel->points.end(), [&](const auto& p) {
        return p.dims == key.dims;
      })) << key.name;
    }
  const std::string report = calibration_report(c, visits, directory.path());
  EXPECT_THAT(report, testing::HasSubstr("gemm_tn.bias.fp32"));
  EXPECT_THAT(report, testing::HasSubstr("all_reduce among 2"));
  EXPECT_THAT(report, testing::HasSubstr("here.transfers.json"));
}

int calibrate(std::vector<std::string> words) {
  words.insert(words.begin(), {"orrery-rt", "calibrate"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return calibrate_command_line(static_cast<int>(argv.size()), argv.data());
}

TEST(CalibrateCommand, RefusesWhatItCannotMean) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{"--name", "a/b"},
                                                {"--ranks", "0"},
                                                {"--ranks", "65"},
                                                {"--fast"},
                                                {"--name", ""}})
    EXPECT_THROW(calibrate(words), InputError) << words.front();
  const ScratchDirectory directory;
  EXPECT_THROW(calibrate({"--output", directory.path(), "no-such-scenario.json"}), InputError);
}

TEST(CalibrateCommand, Helps) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(calibrate({"--help"}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStdout(), testing::HasSubstr("--quick"));
}

}  // namespace
}  // namespace orrery::runtime
