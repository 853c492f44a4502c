// Reading a scenario: what is solved, what is refused, and that a message points at the user's value.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;
using testing::Parts;
using testing::read;
using testing::Read;

TEST(ReadScenario, SolvesWhatFollows) {
  const Read r = read(Parts{.parallel = R"("tp": 2, "pp": 4, "zero": 1)",
                            .training = R"("global_batch": 64, "micro_batch": 2, "sequence_length": 1024)"});
  ASSERT_EQ(r.text(), "");
  EXPECT_EQ(r.scenario.parallel.dp, 4);
  EXPECT_EQ(r.scenario.parallel.world(), 32);
  EXPECT_EQ(r.scenario.training.microbatches, 8);
  EXPECT_EQ(r.scenario.parallel.layers_of_stage, (std::vector<std::int64_t>{8, 8, 8, 8}));
  EXPECT_EQ(r.scenario.parallel.tp_stride, 1);
  EXPECT_EQ(r.scenario.parallel.dp_stride, 2);
  EXPECT_EQ(r.scenario.parallel.pp_stride, 8);
  EXPECT_EQ(r.scenario.name, "test");
}

TEST(ReadScenario, OrderDecidesTheStrides) {
  const Read r = read(Parts{.parallel = R"("tp": 2, "pp": 4, "order": "pp-cp-tp-ep-dp")"});
  ASSERT_EQ(r.text(), "");
  EXPECT_EQ(r.scenario.parallel.pp_stride, 1);
  EXPECT_EQ(r.scenario.parallel.tp_stride, 4);
  EXPECT_EQ(r.scenario.parallel.dp_stride, 8);
  const Read last = read(Parts{.parallel = R"("tp": 2, "pp": 4, "order": "tp-pp-dp-cp")"});
  EXPECT_EQ(last.scenario.parallel.pp_stride, 2);
  EXPECT_EQ(last.scenario.parallel.dp_stride, 8);
  for (const char* bad : {"tp-dp", "tp-dp-pp-pp", "tp-dp-xp", "", "tp-tp-pp", "tp--dp-pp"})
    EXPECT_THAT(read(Parts{.parallel = "\"order\": \"" + std::string(bad) + "\""}).text(),
                HasSubstr("order must name"))
        << bad;
}

// Two of the three terms give the third.
TEST(ReadScenario, SolvesAnyTermOfTheBatch) {
  for (const char* terms :
       {R"("global_batch": 128, "micro_batch": 2)", R"("global_batch": 128, "accumulation": 2)",
        R"("micro_batch": 2, "microbatches": 2)",
        R"("global_batch": 128, "micro_batch": 2, "accumulation": 2)",
        R"("global_batch": 128, "micro_batch": "auto", "accumulation": 2)"}) {
    const Read r = read(Parts{.training = std::string(terms) + R"(, "sequence_length": 128)"});
    ASSERT_EQ(r.text(), "") << terms;
    EXPECT_EQ(r.scenario.training.global_batch, 128) << terms;
    EXPECT_EQ(r.scenario.training.micro_batch, 2) << terms;
    EXPECT_EQ(r.scenario.training.microbatches, 2) << terms;
  }
}

TEST(ReadScenario, UnknownKeysAreErrorsWithASuggestion) {
  const Read r = read(Parts{.parallel = R"("tp": 2, "zreo": 1)", .rest = R"("kernals": {})"});
  EXPECT_EQ(r.errors(), 2U);
  EXPECT_THAT(r.text(), HasSubstr("unknown key \"zreo\" in parallel"));
  EXPECT_THAT(r.text(), HasSubstr("did you mean \"zero\"?"));
  EXPECT_THAT(r.text(), HasSubstr("did you mean \"kernels\"?"));
}

TEST(ReadScenario, QuantitiesNeedUnits) {
  const Read r = read(Parts{.rest = R"("measured": { "step_time": 9.69, "peak_memory": "18.6 GB" },
  "overlap": { "bucket_size": 1000 })"});
  EXPECT_EQ(r.errors(), 2U);
  EXPECT_THAT(r.text(), HasSubstr("\"step_time\" in measured has no unit"));
  EXPECT_THAT(r.text(), HasSubstr("\"bucket_size\" in overlap has no unit"));
}

TEST(ReadScenario, MeasuredValues) {
  const Read r = read(Parts{.rest = R"("measured": { "step_time": "9.69 s", "peak_memory": "18.6 GB",
    "comm_fraction": 0.35, "samples_per_s": 211.4, "source": "someone" })"});
  ASSERT_EQ(r.text(), "");
  ASSERT_TRUE(r.scenario.measured.has_value());
  EXPECT_DOUBLE_EQ(*r.scenario.measured->step_time_s, 9.69);
  EXPECT_DOUBLE_EQ(*r.scenario.measured->peak_memory_bytes, 18.6e9);
  EXPECT_DOUBLE_EQ(*r.scenario.measured->samples_per_s, 211.4);
  EXPECT_FALSE(r.scenario.measured->tflops_per_gpu.has_value());
  EXPECT_THAT(read(Parts{.rest = R"("measured": { "source": "someone" })"}).text(),
              HasSubstr("measured holds no measurement"));
}

// What cannot be simulated yet is refused, not ignored.
TEST(ReadScenario, LaterPartsAreRefused) {
  const Read r = read(Parts{.rest = R"("price": {}, "failures": {})"});
  EXPECT_EQ(r.errors(), 2U);
  EXPECT_THAT(r.text(), HasSubstr("\"failures\" is not supported yet"));
  EXPECT_THAT(r.text(), HasSubstr("\"price\" is not supported yet"));
}

TEST(ReadScenario, OnePrecision) {
  const auto training = [](const char* text) {
    return read(Parts{
        .training = std::string(R"("global_batch": 64, "micro_batch": 1, "sequence_length": 128, )") + text});
  };
  EXPECT_THAT(training(R"("precision": ["fp16", "bf16"])").text(),
              HasSubstr("fp16 and bf16 exclude each other"));
  EXPECT_THAT(training(R"("fp16": true, "bf16": true)").text(), HasSubstr("write \"precision\": \"fp16\""));
  EXPECT_THAT(training(R"("precision": "fp8")").text(), HasSubstr("has no fp8 arithmetic"));
  EXPECT_THAT(training(R"("precision": "half")").text(), HasSubstr("allowed: fp32, tf32, fp16, bf16"));
}

// A mistake in the model does not bring messages about what could not be checked without it.
TEST(ReadScenario, OneMistakeOneMessage) {
  const Read model = read(Parts{.model = R"("models/zoo/gtp2-124m.json")", .parallel = R"("tp": 2)"});
  EXPECT_EQ(model.errors(), 1U) << model.text();
  EXPECT_THAT(model.text(), HasSubstr("did you mean \"models/zoo/gpt2-124m.json\"?"));
  const Read tp = read(Parts{.parallel = R"("tp": "two", "dp": 4, "pp": 2)"});
  EXPECT_EQ(tp.errors(), 1U) << tp.text();
}

// All errors of independent parts appear at once, each at its line and column.
TEST(ReadScenario, AllErrorsAtOnceAtTheirPlaces) {
  const Read r = read(Parts{.heads = 32,
                            .parallel = R"("tp": 3, "schedule": "interleaved")",
                            .training = R"("global_batch": 64, "micro_batch": 1, "sequence_length": 4096)",
                            .rest = R"("network": { "algorithm": "nvls" })"});
  EXPECT_EQ(r.errors(), 6U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr("test.json:5:23: error: tp=3 does not divide heads=32\n"
                                  "  5 |   \"parallel\": { \"tp\": 3, \"schedule\": \"interleaved\" },\n"
                                  "    |                       ^ use 1, 2, 4, 8, 16 or 32\n"));
  EXPECT_THAT(r.text(),
              HasSubstr("test.json:6:74: error: sequence_length=4096 is beyond the 2048 learned positions"));
}

TEST(ReadScenario, MissingPartsAreNamed) {
  const Read r = read("{ \"training\": {} }");
  EXPECT_THAT(r.text(), HasSubstr("\"model\" in the scenario is required"));
  EXPECT_THAT(r.text(), HasSubstr("\"cluster\" in the scenario is required"));
  EXPECT_THAT(r.text(), HasSubstr("\"sequence_length\" in training is required"));
  EXPECT_THAT(read("[1]").text(), HasSubstr("the scenario must be an object"));
}

TEST(ReadScenario, OriginsPointAtTheValue) {
  const Read r = read(Parts{.parallel = R"("tp": 2, "zero": 3)"});
  EXPECT_EQ(r.scenario.origins.zero.line, 5U);
  EXPECT_EQ(r.scenario.origins.zero.column, 34U);
  EXPECT_EQ(r.scenario.origins.pp.line, r.scenario.origins.parallel.line);  // absent: the object around it
  EXPECT_EQ(r.scenario.origins.model.line, 2U);
}

TEST(ReadScenario, ModelAndClusterMayRefineAFile) {
  const Read r = read(Parts{.model = R"({ "base": "models/zoo/gpt2-124m.json", "layers": 24 })"});
  ASSERT_EQ(r.text(), "");
  EXPECT_EQ(r.scenario.model.layers, 24);
  EXPECT_EQ(r.scenario.model.hidden, 768);
  EXPECT_EQ(r.scenario.cluster.nodes, 4);
}

}  // namespace
}  // namespace orrery::scenarios
