// The JSON result: documented, complete, stable.
#include "sim/report/json_result.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/metrics/predict.h"
#include "tests/sim/report/known_result.h"
#include "tests/sim/report/transcript.h"

namespace orrery::sim {
namespace {

using testing::known_result;
using testing::known_scenario;

TEST(JsonResult, Transcript) {
  testing::expect_transcript("result.json", json_result(known_scenario(), known_result()));
}

TEST(JsonResult, ReadsBackToTheSameNumbers) {
  const scenarios::Scenario s = scenarios::read_scenario("scenarios/quickstart.json");
  const Result r = predict(s).result;
  const auto json = nlohmann::json::parse(json_result(s, r));
  EXPECT_EQ(json.at("schema_version"), kResultSchemaVersion);
  EXPECT_EQ(json.at("step_time_s").at("value").get<double>(), r.step_time_s.value);
  EXPECT_EQ(json.at("mfu").get<double>(), r.mfu);
  double waterfall = 0.0, breakdown = 0.0;
  for (const auto& share : json.at("waterfall")) waterfall += share.get<double>();
  EXPECT_NEAR(waterfall, r.step_time_s.value, 1e-9 * r.step_time_s.value);
  for (const auto& bytes : json.at("memory").at("breakdown")) breakdown += bytes.get<double>();
  EXPECT_EQ(breakdown, json.at("memory").at("total_bytes").at("value").get<double>());
}

TEST(JsonResult, SameScenarioSameBytes) {
  const scenarios::Scenario s = scenarios::read_scenario("scenarios/quickstart.json");
  EXPECT_EQ(json_result(s, predict(s).result, false), json_result(s, predict(s).result, false));
}

TEST(JsonResult, ANameThatIsNoUtf8IsStillJson) {
  Result r = known_result();
  r.scenario = "bad \xff name \"quoted\"\n";
  EXPECT_TRUE(nlohmann::json::accept(json_result(known_scenario(), r)));
}

TEST(JsonResults, HoldsEveryScenario) {
  const scenarios::Scenario s = known_scenario();
  const Result r = known_result();
  const std::vector<Compared> both{{&s, &r}, {&s, &r}};
  const auto json = nlohmann::json::parse(json_results(both));
  EXPECT_EQ(json.at("results").size(), 2U);
}

void collect_keys(const nlohmann::json& value, const std::string& prefix, std::vector<std::string>& keys) {
  if (value.is_array() && !value.empty()) collect_keys(value.front(), prefix + "[]", keys);
  if (!value.is_object()) return;
  for (const auto& [key, member] : value.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    keys.push_back(path);
    collect_keys(member, path, keys);
  }
}

TEST(JsonResult, EveryFieldIsDocumented) {
  std::ifstream file("docs/reference/result.md");
  ASSERT_TRUE(file);
  std::stringstream docs;
  docs << file.rdbuf();
  std::vector<std::string> keys;
  collect_keys(nlohmann::json::parse(json_result(known_scenario(), known_result())), "", keys);
  ASSERT_GT(keys.size(), 60U);
  for (const std::string& key : keys)
    EXPECT_NE(docs.str().find("`" + key + "`"), std::string::npos)
        << key << " is not in docs/reference/result.md";
}

}  // namespace
}  // namespace orrery::sim
