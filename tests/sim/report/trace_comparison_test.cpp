// A comparison for people and for programs: memory that differs is said, every field is documented, a name
// that needs quotes in CSV has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sim/metrics/simulated_trace.h"
#include "sim/report/trace_comparison_json.h"
#include "sim/report/trace_comparison_text.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Both {
  scenarios::Scenario scenario;
  Prediction prediction;
  schedule::Trace predicted, measured;
  TraceComparison comparison() const {
    return compare_traces(scenario, prediction.schedule, {"predicted", "", &predicted},
                          {"measured", "a.trace", &measured});
  }
};

Both both() {
  testing::Gpt g;
  g.gpus = 8;
  g.tp = 2;
  g.pp = 2;
  g.global_batch = 16;
  Both b{.scenario = testing::gpt(g), .prediction = {}, .predicted = {}, .measured = {}};
  PredictOptions options = with_steady_trace({});
  options.simulation.fold = false;
  b.prediction = predict(b.scenario, options);
  b.predicted = to_trace(b.scenario, b.prediction);
  b.measured = b.predicted;
  b.measured.origin = schedule::TraceOrigin::measured;
  b.measured.machine = "a machine";
  return b;
}

TEST(TraceComparisonText, HasEverySection) {
  const std::string text = trace_comparison_text(both().comparison());
  for (const char* part :
       {"a GPT, 8 ranks\n", "a.trace: a machine, 3 steps from step 1", "The step", "step time",
        "Where it goes", "pipeline bubble", "communication, not hidden", "Ops by kind", "  gemm ",
        "Transfers by group", "tensor, active", "waiting for other sides", "Memory",
        "peak live bytes are equal on every rank", "Ops that make the difference"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("arena"))) << "none was measured";
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << line;
}

TEST(TraceComparisonText, MemoryThatDiffersIsSaid) {
  Both b = both();
  b.measured.ranks[3].peak_live_bytes += 512;
  b.measured.ranks[3].arena_bytes = 2 * b.measured.ranks[3].peak_live_bytes;
  const std::string text = trace_comparison_text(b.comparison());
  EXPECT_THAT(text, HasSubstr("!! peak live bytes differ on 1 of 8 ranks"));
  EXPECT_THAT(text, HasSubstr("rank 3: predicted "));
  EXPECT_THAT(text, HasSubstr("packing them into one arena takes at most 100.0 % more"));
}

void collect_keys(const nlohmann::json& json, std::set<std::string>& keys) {
  if (json.is_array())
    for (const auto& item : json) collect_keys(item, keys);
  if (!json.is_object()) return;
  for (const auto& [key, value] : json.items()) {
    keys.insert(key);
    collect_keys(value, keys);
  }
}

TEST(TraceComparisonJson, EveryFieldIsDocumented) {
  std::ifstream file("docs/reference/trace.md");
  std::stringstream docs;
  docs << file.rdbuf();
  std::set<std::string> keys;
  collect_keys(nlohmann::json::parse(trace_comparison_json(both().comparison())), keys);
  ASSERT_GT(keys.size(), 40U);
  for (const std::string& key : keys)
    EXPECT_THAT(docs.str(), HasSubstr("`" + key + "`")) << "in docs/reference/trace.md";
}

TEST(TraceComparisonJson, OpsAreTheRowsOfTheCsv) {
  const Both b = both();
  const TraceComparison c = b.comparison();
  const nlohmann::json json = nlohmann::json::parse(trace_comparison_json(c));
  const std::string csv = trace_comparison_csv(c);
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), json.at("ops").size() + 1);
  EXPECT_EQ(json.at("ops").at(0).at("op").get<std::string>(), c.join.ops.front().name);
  EXPECT_EQ(json.at("world").get<int>(), 8);
}

}  // namespace
}  // namespace orrery::sim
