// Rows arrive in order whatever the threads; what a taker throws ends the work, and no thread stays behind.
#include "sim/commands/sweep_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

namespace orrery::sim {
namespace {

SweepPlan seeds(int count) {
  std::string values = "1";
  for (int i = 2; i <= count; ++i) values += "," + std::to_string(i);
  return plan_sweep({"scenarios/quickstart.json"}, {"training.micro_batch=3", "training.seed=" + values},
                    false);
}

TEST(SweepWork, RowsComeInOrder) {
  const SweepPlan plan = seeds(50);
  std::vector<std::size_t> wanted = {0, 3, 4, 17, 18, 19, 40, 49}, got;
  for (const unsigned threads : {1U, 5U, 64U}) {
    got.clear();
    compute_rows(plan, wanted, threads, [&](std::size_t index, const SweepRow& row) {
      EXPECT_EQ(row[0], std::to_string(index));
      EXPECT_EQ(row[5], "illegal");
      EXPECT_THAT(row[6], testing::HasSubstr("micro_batch 3"));
      got.push_back(index);
    });
    EXPECT_EQ(got, wanted);
  }
  compute_rows(plan, {}, 4, [&](std::size_t, const SweepRow&) { ADD_FAILURE() << "nothing was asked for"; });
}

TEST(SweepWork, AFailureEndsIt) {
  const SweepPlan plan = seeds(300);
  std::vector<std::size_t> all(plan.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::size_t taken = 0;
  EXPECT_THROW(compute_rows(plan, all, 3,
                            [&](std::size_t, const SweepRow&) {
                              if (++taken == 5) throw std::runtime_error("the disk is full");
                            }),
               std::runtime_error);
  EXPECT_EQ(taken, 5U);
}

}  // namespace
}  // namespace orrery::sim
