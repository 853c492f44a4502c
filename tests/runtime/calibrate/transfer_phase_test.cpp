// Which messages are measured when, with laws in place of a machine; and the same on this machine, small.
#include "runtime/calibrate/transfer_phase.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/calibrate/findings.h"
#include "runtime/calibrate/hardware_files.h"
#include "tests/runtime/calibrate/scratch_directory.h"

namespace orrery::runtime {
namespace {

using hardware::TransferOperation;
using testing::ElementsAre;

constexpr Exchange kReduce{TransferOperation::all_reduce, 2}, kSend{TransferOperation::send_recv, 2};

class Law final : public TransferMeasurer {
 public:
  TransferVisit visit(const Exchange& exchange, const std::vector<std::int64_t>& bytes, double) override {
    visited.push_back(exchange);
    now += 10.0;
    TransferVisit v;
    for (const std::int64_t b : bytes) {
      const double bandwidth = exchange.first == TransferOperation::all_reduce && b > (4 << 20) ? 1e9 : 10e9;
      v.seconds.push_back(std::vector<double>(6, 5e-6 + static_cast<double>(b) / bandwidth));
    }
    v.cores = 0.75;
    return v;
  }
  std::vector<Exchange> visited;
  double now = 0.0;
};

TEST(TransferPhase, CurvesAreThoseOfTheLawAndACollapseIsNamed) {
  const ScratchDirectory directory;
  Journal journal(directory.file("j"), "id", JournalUse::begin_anew);
  TransferPhase phase({kReduce, kSend}, std::int64_t{64} << 20, journal);
  Law law;
  Progress progress(false);
  std::atomic<bool> stop{false};
  phase.run(
      law, {.budget_s = 1e6}, [&] { return law.now; }, stop, progress);
  EXPECT_THAT(law.visited, ElementsAre(kReduce, kSend, kReduce, kSend));  // then all are settled
  const std::vector<hardware::TransferCurve> curves = measured_curves(phase.curves());
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0].points.size(), 11U);
  EXPECT_EQ(curves[0].points.front().samples, 12);
  EXPECT_DOUBLE_EQ(curves[0].cores, 0.75);
  EXPECT_NEAR(curves[1].points.front().seconds, 5e-6 + 64 / 10e9, 1e-9);
  const std::vector<CurveFinding> findings = curve_findings(curves);
  EXPECT_THAT(findings[0].bend, testing::HasSubstr("bandwidth falls"));
  EXPECT_EQ(findings[1].bend, "");
}

TEST(TransferPhase, GoesOnFromTheJournal) {
  const ScratchDirectory directory;
  Progress progress(false);
  std::atomic<bool> stop{false};
  Law law;
  {
    Journal journal(directory.file("j"), "id", JournalUse::begin_anew);
    TransferPhase phase({kReduce, kSend}, 4096, journal);
    phase.run(
        law, {.budget_s = 15.0}, [&] { return law.now; }, stop, progress);
    EXPECT_THAT(law.visited, ElementsAre(kReduce, kSend));
  }
  law.visited.clear();
  Journal journal(directory.file("j"), "id", JournalUse::begin_anew);
  TransferPhase phase({kReduce, kSend}, 4096, journal);
  phase.run(
      law, {.budget_s = 15.0}, [&] { return law.now; }, stop, progress);
  EXPECT_THAT(law.visited, ElementsAre(kReduce, kSend));
  EXPECT_EQ(phase.curves().at(kSend).visits, 2);
}

TEST(TransferPhase, SizesDivideAmongTheRanks) {
  EXPECT_THAT(message_sizes(4096, 2), ElementsAre(64, 256, 1024, 4096));
  for (const std::int64_t ranks : {2, 3, 5, 8, 48})
    for (const std::int64_t bytes : message_sizes(1 << 20, ranks)) EXPECT_EQ(bytes % (4 * ranks), 0) << ranks;
}

// Every operation, through executors, on this machine.
TEST(ProbeMeasurer, TimesEveryOperation) {
  ProbeMeasurer measurer;
  for (std::size_t o = 0; o < hardware::kTransferOperations; ++o) {
    const auto operation = static_cast<TransferOperation>(o);
    const std::int64_t ranks = operation == TransferOperation::send_recv ? 2 : 3;
    const std::vector<std::int64_t> bytes = message_sizes(4096, ranks);
    const TransferVisit v = measurer.visit({operation, ranks}, bytes, 0.01);
    ASSERT_EQ(v.seconds.size(), bytes.size());
    for (const std::vector<double>& of_size : v.seconds) {
      EXPECT_GE(of_size.size(), 3U);
      EXPECT_THAT(of_size, testing::Each(testing::Gt(0.0)));
    }
    EXPECT_GE(v.cores, 0.0);
    EXPECT_LE(v.cores, 1.0);
  }
}

}  // namespace
}  // namespace orrery::runtime
