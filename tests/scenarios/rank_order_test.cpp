// Strides of the rank grid and of the grid of experts, and which dimensions stand side by side.
#include <gtest/gtest.h>

#include "scenarios/rank_order.h"

namespace orrery::scenarios {
namespace {

Parallel plan() {
  Parallel p;
  p.tp = 2, p.cp = 3, p.dp = 4, p.pp = 5;
  p.etp = 2, p.ep = 6;
  return p;
}

TEST(RankOrder, StridesMultiplyInOrder) {
  Parallel p = plan();
  place_ranks(p);
  EXPECT_EQ(p.world(), 120);
  EXPECT_EQ(p.replicas(), 12);
  EXPECT_EQ(p.tp_stride, 1);
  EXPECT_EQ(p.cp_stride, 2);
  EXPECT_EQ(p.dp_stride, 6);
  EXPECT_EQ(p.pp_stride, 24);
  place_ranks(p, {"pp", "dp", "cp", "tp"});
  EXPECT_EQ(p.pp_stride, 1);
  EXPECT_EQ(p.dp_stride, 5);
  EXPECT_EQ(p.cp_stride, 20);
  EXPECT_EQ(p.tp_stride, 60);
}

// 2 x 3 x 4 ranks of a stage are 2 x 6 x 2 for the experts.
TEST(RankOrder, ExpertsCutAStageAgain) {
  Parallel p = plan();
  place_ranks(p);
  EXPECT_EQ(p.edp, 2);
  EXPECT_EQ(p.etp_stride, 1);
  EXPECT_EQ(p.ep_stride, 2);
  EXPECT_EQ(p.edp_stride, 12);
  place_ranks(p, {"pp", "tp", "cp", "dp"});
  EXPECT_EQ(p.etp_stride, 5);
  EXPECT_EQ(p.edp_stride, 60);
}

TEST(RankOrder, AdjacentDimensions) {
  Parallel p = plan();
  EXPECT_TRUE(adjacent(p, {"tp", "cp", "dp", "pp"}, {"cp", "dp"}));
  EXPECT_TRUE(adjacent(p, {"pp", "dp", "cp", "tp"}, {"cp", "dp"}));
  EXPECT_FALSE(adjacent(p, {"tp", "cp", "pp", "dp"}, {"cp", "dp"}));
  EXPECT_TRUE(adjacent(p, {"tp", "cp", "dp", "pp"}, {"tp", "cp", "dp"}));
  EXPECT_FALSE(adjacent(p, {"tp", "pp", "cp", "dp"}, {"tp", "cp", "dp"}));
  p.pp = 1;  // one rank is no distance
  EXPECT_TRUE(adjacent(p, {"tp", "cp", "pp", "dp"}, {"cp", "dp"}));
  p.pp = 5, p.cp = 1;
  EXPECT_TRUE(adjacent(p, {"cp", "tp", "pp", "dp"}, {"cp", "dp"}));
}

}  // namespace
}  // namespace orrery::scenarios
