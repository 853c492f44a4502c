// Words that no option takes.
#include "base/option_words.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

const std::vector<std::string> kOptions = {"--steps", "--save-trace", "--stall-limit"};

TEST(UnknownOption, TheNearestIsMeant) {
  const UnknownOption unknown = unknown_option({"5", "--step", "7"}, kOptions);
  EXPECT_EQ(unknown.message, "there is no option --step");
  EXPECT_EQ(unknown.hint, "did you mean --steps?");
  EXPECT_EQ(unknown_option({"--stall-limt=3"}, kOptions).hint, "did you mean --stall-limit?");
}

TEST(UnknownOption, NothingNearAndNoOptionAtAll) {
  EXPECT_EQ(unknown_option({"--colour"}, kOptions).hint, "");
  EXPECT_EQ(unknown_option({"other.json"}, kOptions).message, "\"other.json\" is one file or word too many");
}

}  // namespace
}  // namespace orrery
