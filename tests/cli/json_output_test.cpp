// --json prints one document, and nothing else, on any command that has it; the numbers are those of the
// text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "tests/cli/program.h"

namespace orrery::cli {
namespace {

using testing::HasSubstr;

Json parsed(const std::string& text) {
  Diagnostics diagnostics;
  Json json = parse_json(std::make_shared<SourceFile>(SourceFile{"stdout", text}), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.text();
  return json;
}

Json json_of(const std::vector<std::string>& arguments, int code = 0) {
  const Ran ran = run(arguments);
  EXPECT_EQ(ran.code, code) << ran.err;
  EXPECT_EQ(ran.err, "");
  Json json = parsed(ran.out);
  EXPECT_TRUE(json.is_object());
  const Json* version = json.find("schema_version");
  EXPECT_TRUE(version != nullptr && version->integer == 1);
  return json;
}

const Json& member(const Json& json, const std::string& key) {
  static const Json kNone;
  const Json* found = json.find(key);
  EXPECT_NE(found, nullptr) << key;
  return found == nullptr ? kNone : *found;
}

TEST(JsonOutput, OneScenarioIsItsResultSeveralAreAList) {
  const Json one = json_of({"run", "scenarios/quickstart.json", "--json"});
  EXPECT_GT(member(member(one, "step_time_s"), "value").number, 0.0);
  EXPECT_TRUE(member(one, "fits").boolean);
  const Json two = json_of({"run", "scenarios/quickstart.json", "scenarios/7b-8gpu.json", "--json"});
  ASSERT_EQ(member(two, "results").items.size(), 2U);
  EXPECT_EQ(member(member(two, "results").items[0], "fingerprint").string, member(one, "fingerprint").string);
  EXPECT_EQ(member(json_of({"compare", "scenarios/quickstart.json", "--json"}), "results").items.size(), 1U);
}

TEST(JsonOutput, FullSimulationGivesTheSameStep) {
  const auto step = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run", "scenarios/quickstart.json", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return member(member(json_of(arguments), "step_time_s"), "value").number;
  };
  EXPECT_EQ(step({"--full"}), step({}));
  EXPECT_NE(step({"--set", "training.micro_batch=1"}), step({})) << "and --set is not ignored";
}

TEST(JsonOutput, TokensAreAnswered) {
  const Json json = json_of({"run", "scenarios/quickstart.json", "--tokens", "300e9", "--json"});
  const Json& to = member(json, "to_tokens");
  EXPECT_EQ(member(to, "tokens").number, 300e9);
  EXPECT_NEAR(member(to, "gpu_hours").number, 8 * member(to, "hours").number, 1e-6);
}

TEST(JsonOutput, Check) {
  const Json json = json_of({"check", "scenarios/quickstart.json", "--json"});
  EXPECT_TRUE(member(member(json, "files").items.at(0), "fits").boolean);
  const Json no = json_of({"check", "tests/cli/send_first.schedule", "--json"}, 1);
  EXPECT_FALSE(member(member(no, "files").items.at(0), "sound").boolean);
  const Json wrong = json_of({"check", "scenarios/quickstart.json", "--set", "parallel.tp=5", "--json"}, 2);
  EXPECT_FALSE(member(member(wrong, "files").items.at(0), "legal").boolean);
  EXPECT_THAT(member(member(wrong, "files").items.at(0), "errors").string, HasSubstr("tp=5"));
}

TEST(JsonOutput, Model) {
  const Json json = json_of({"model", "models/zoo/gpt2-124m.json", "--json"});
  EXPECT_EQ(member(json, "parameters").integer, 124'439'808);
  // Korthikanti et al. 2022, with fused attention and GPT-2's dropout of 0.1: 34 s b h bytes, less what is
  // not kept, plus the statistics; the right number is the subject of the schedule's tests, here its size.
  const double sbh = 1024.0 * 768.0;
  const double kept = member(member(json, "activation_bytes_per_layer"), "fused_attention").number;
  EXPECT_GT(kept, 25.0 * sbh);
  EXPECT_LT(kept, 40.0 * sbh);
  const Json longer = json_of({"model", "models/zoo/gpt2-124m.json", "--micro-batch", "2", "--json"});
  EXPECT_NEAR(member(member(longer, "activation_bytes_per_layer"), "fused_attention").number, 2.0 * kept,
              0.01 * kept);
}

TEST(JsonOutput, Cluster) {
  const Json path =
      json_of({"cluster", "hardware/clusters/a100-80g-16x8.json", "--from", "0", "--to", "9", "--json"});
  EXPECT_EQ(member(member(path, "path"), "kind").string, "network");
  const Json table = json_of({"cluster", "hardware/clusters/dgx-h100.json", "--collective", "all_reduce",
                              "--size", "1 GiB", "--gpus", "4", "--algorithm", "ring", "--json"});
  const Json& row = member(member(table, "collective"), "rows").items.at(0);
  EXPECT_EQ(member(row, "algorithm").string, "ring");
  EXPECT_NEAR(member(row, "busbw_bytes_per_s").number,
              member(row, "algbw_bytes_per_s").number * 2.0 * 3.0 / 4.0, 1e6);
  EXPECT_NEAR(member(row, "algbw_bytes_per_s").number * member(row, "time_s").number,
              1024.0 * 1024.0 * 1024.0, 1e5);
}

TEST(JsonOutput, ATraceIsJson) {
  const Scratch scratch;
  const Ran ran = run({"run", "scenarios/3b-1gpu.json", "--trace", scratch.path("trace.json")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json trace = parsed(slurp(scratch.path("trace.json")));
  EXPECT_GT(member(trace, "traceEvents").items.size(), 100U);
  EXPECT_EQ(run({"run", "scenarios/3b-1gpu.json"}).out, ran.out) << "looking does not change what is seen";
}

}  // namespace
}  // namespace orrery::cli
