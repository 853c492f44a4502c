// The rules of scenarios/rules_precision.cpp: what low-precision products need of the GPU, the shapes and the
// framework.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;
using testing::Parts;
using testing::read;
using testing::Read;

Parts low(const std::string& precision, const std::string& scaling,
          const std::string& cluster = "h100-16x8") {
  return {.cluster = "\"hardware/clusters/" + cluster + ".json\"",
          .framework = "megatron",
          .training = R"("micro_batch": 1, "accumulation": 1, "sequence_length": 1024, "precision": ")" +
                      precision + "\"",
          .rest = scaling.empty() ? "\"name\": \"x\"" : R"("recipe": { "scaling": ")" + scaling + "\" }"};
}

void expect_refused(const Parts& parts, const std::string& line, const std::string& reason,
                    const std::string& hint) {
  const Read r = read(parts);
  EXPECT_EQ(r.errors(), 1U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr("test.json:" + line + ":"));
  EXPECT_THAT(r.text(), HasSubstr(reason));
  EXPECT_THAT(r.text(), HasSubstr(hint));
}

TEST(LowPrecision, HasScalingsOfItsOwn) {
  expect_refused(low("fp8", "nvfp4"), "7", "nvfp4 scaling is not for fp8 products",
                 "use \"delayed\", \"current\"");
  expect_refused(low("bf16", "delayed"), "7", "bf16 products are not scaled", "or train in fp8 or fp4");
  const Read r = read(low("fp8", ""));
  EXPECT_EQ(r.text(), "");
  EXPECT_EQ(r.scenario.recipe.scaling, Scaling::delayed);
  EXPECT_EQ(read(low("fp4", "", "b200-16x8")).scenario.recipe.scaling, Scaling::nvfp4);
}

TEST(LowPrecision, NeedsTheHardware) {
  expect_refused(low("fp8", "mx"), "7", "blocks of 32 with scales of their own are Blackwell's",
                 "use \"delayed\", \"current\" or \"block\"");
  expect_refused(low("fp4", ""), "6", "has no fp4 arithmetic", "fp8");
  EXPECT_EQ(read(low("fp8", "mx", "b200-16x8")).text(), "");
  EXPECT_EQ(read(low("fp8", "block")).text(), "");
}

TEST(LowPrecision, NeedsMultiplesOfItsBlocks) {
  Parts parts = low("fp8", "");
  parts.ffn_hidden = 16392;
  expect_refused(parts, "6",
                 "fp8 products with delayed scaling need multiples of 16, but ffn_hidden / tp is 16392",
                 "use \"bf16\", or another tp or model");
  parts.ffn_hidden = 16384;
  EXPECT_EQ(read(parts).text(), "");
  parts.training = R"("micro_batch": 1, "accumulation": 1, "sequence_length": 1000, "precision": "fp8")";
  expect_refused(parts, "6", "sums over 1000 tokens, which is no multiple of 16",
                 "use a sequence_length of 992 or 1008");
}

TEST(LowPrecision, NeedsAFrameworkThatHasIt) {
  Parts parts = low("fp8", "");
  parts.framework = "deepspeed";
  expect_refused(parts, "6", "deepspeed has no fp8 products of its own",
                 "or framework \"megatron\" or \"fsdp\"");
  parts.framework = "fsdp";
  EXPECT_EQ(read(parts).text(), "");
}

}  // namespace
}  // namespace orrery::scenarios
