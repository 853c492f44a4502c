// Which groups a plan has, and of which kind they are.
#include <gtest/gtest.h>

#include "schedule/compile.h"
#include "schedule/text.h"
#include "tests/schedule/small_scenarios.h"

namespace orrery::schedule {
namespace {

TEST(Groups, FurtherOnesExistWhereThePlanHasThem) {
  const Schedule plain = compile(small_scenario(gpt_style(2), {.tp = 2, .dp = 2}));
  EXPECT_EQ(plain.groups.size(), 5U);
  EXPECT_EQ(find_group(plain, "gradient"), kNoGroup);
  EXPECT_EQ(plain.programs[0].units[0].shard_group, kData);
  const Schedule two = compile(small_scenario(gpt_style(4), {.pp = 2, .vpp = 2}));
  EXPECT_EQ(kind_of_group(two, find_group(two, "pipe_backward")), GroupKind::pipe);
}

TEST(Groups, KindsAreByIndexThenByName) {
  Schedule s;
  for (const char* name : {"world", "context", "data", "pipe", "embedding", "context", "gradient", "expert", "expert_data", "mine"})
    s.groups.push_back({.name = name});
  EXPECT_EQ(kind_of_group(s, 0), GroupKind::other);
  EXPECT_EQ(kind_of_group(s, 1), GroupKind::tensor);  // a standard one, whatever a text calls it
  EXPECT_EQ(kind_of_group(s, 4), GroupKind::other);
  EXPECT_EQ(kind_of_group(s, find_group(s, "context")), GroupKind::context);
  EXPECT_EQ(kind_of_group(s, find_group(s, "gradient")), GroupKind::data);
  EXPECT_EQ(kind_of_group(s, find_group(s, "expert")), GroupKind::expert);
  EXPECT_EQ(kind_of_group(s, find_group(s, "expert_data")), GroupKind::data);
  EXPECT_EQ(kind_of_group(s, find_group(s, "mine")), GroupKind::other);
  EXPECT_EQ(find_group(s, "world"), kNoGroup);
}

}  // namespace
}  // namespace orrery::schedule
