// Models that can be counted but not trained are refused, each part with its reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;

testing::Read with_model(const std::string& parts) {
  const std::string model = R"({ "layers": 4, "heads": 8, "hidden": 512, "head_dim": 64, "vocab": 51200, "max_positions": 2048,
    "qkv_bias": false, "attention_out_bias": false, )";
  return testing::read(testing::Parts{.model = model + parts + " }"});
}

TEST(ModelParts, WhatIsOnlyCountedIsRefused) {
  const struct {
    const char* part;
    const char* reason;
  } cases[] = {
      {R"("experts": { "count": 8, "top_k": 2 })", "a mixture of experts can be counted, but not trained yet"},
      {R"("latent_attention": { "kv_rank": 32, "nope_dim": 48, "rope_dim": 16, "value_dim": 48 })",
       "latent attention can be counted, but not trained yet"},
      {R"("attention_sinks": true)", "attention with sinks can be counted, but not trained yet"}};
  for (const auto& each : cases) {
    const testing::Read r = with_model(each.part);
    EXPECT_EQ(r.errors(), 1U) << r.text();
    EXPECT_THAT(r.text(), HasSubstr(each.reason));
    EXPECT_THAT(r.text(), HasSubstr("`orrery model`"));
  }
  EXPECT_EQ(with_model(R"("dropout": 0)").errors(), 0U);
}

}  // namespace
}  // namespace orrery::scenarios
