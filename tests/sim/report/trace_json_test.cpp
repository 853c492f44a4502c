// Traces are well-formed: slices of a track follow one another, arrows have two ends inside slices, memory
// never falls below zero.
#include "sim/report/trace_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "sim/metrics/predict.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

using nlohmann::json;

struct Written {
  Prediction prediction;
  json events;
};

Written trace_of(const scenarios::Scenario& s, bool all_ranks) {
  PredictOptions options;
  options.simulation.trace = true;
  options.simulation.fold = !all_ranks;
  Written w;
  w.prediction = predict(s, options);
  std::ostringstream out;
  write_trace_json(out, w.prediction.schedule, w.prediction.simulation, {.all_ranks = all_ranks});
  w.events = json::parse(out.str()).at("traceEvents");
  return w;
}

scenarios::Scenario pipeline() {
  testing::Gpt g;
  g.layers = 4;
  g.gpus = 8;
  g.tp = 2;
  g.pp = 2;
  g.global_batch = 16;
  return testing::gpt(g);
}

using Track = std::pair<std::int64_t, std::int64_t>;
Track track_of(const json& e) { return {e.at("pid").get<std::int64_t>(), e.at("tid").get<std::int64_t>()}; }

std::vector<json> of_phase(const json& events, const std::string& phase) {
  std::vector<json> found;
  for (const json& e : events)
    if (e.at("ph") == phase) found.push_back(e);
  return found;
}

TEST(TraceJson, OneTrackPerRankAndStream) {
  const Written w = trace_of(pipeline(), true);
  std::set<std::int64_t> ranks;
  std::set<Track> named;
  for (const json& e : of_phase(w.events, "M"))
    if (e.at("name") == "thread_name") named.insert(track_of(e));
  for (const json& e : of_phase(w.events, "X")) {
    ranks.insert(e.at("pid").get<std::int64_t>());
    EXPECT_EQ(named.count(track_of(e)), 1U);
  }
  EXPECT_EQ(ranks.size(), 8U);
}

TEST(TraceJson, RepresentativesAreOneRankOfEachProgram) {
  const Written w = trace_of(pipeline(), false);
  std::set<std::int64_t> ranks;
  for (const json& e : of_phase(w.events, "X")) ranks.insert(e.at("pid").get<std::int64_t>());
  EXPECT_EQ(ranks, (std::set<std::int64_t>{0, 4}));
}

TEST(TraceJson, EveryOpOfARankIsASlice) {
  const Written w = trace_of(pipeline(), true);
  std::size_t ops = 0;
  for (const json& e : of_phase(w.events, "X")) ops += e.contains("args") ? 1U : 0U;
  EXPECT_EQ(ops, w.prediction.simulation.trace.size());
}

// A stage of the middle of a pipeline that does not overlap its messages sends and receives in one group.
TEST(TraceJson, SlicesOfATrackFollowOneAnother) {
  testing::Gpt g;
  g.layers = 4;
  g.gpus = 8;
  g.tp = 1;
  g.pp = 4;
  g.global_batch = 16;
  scenarios::Scenario grouped = testing::gpt(g);
  grouped.overlap.pipeline = false;
  std::size_t beside = 0;  // tracks of the second and later ops of a group
  for (const scenarios::Scenario& s : {pipeline(), grouped}) {
    const Written w = trace_of(s, true);
    for (const json& e : of_phase(w.events, "M"))
      if (e.at("name") == "thread_name" && e.dump().find("grouped 2") != std::string::npos) ++beside;
    std::map<Track, std::vector<std::pair<double, double>>> tracks;
    for (const json& e : of_phase(w.events, "X"))
      tracks[track_of(e)].emplace_back(e.at("ts").get<double>(),
                                       e.at("ts").get<double>() + e.at("dur").get<double>());
    for (auto& [track, slices] : tracks) {
      std::sort(slices.begin(), slices.end());
      for (std::size_t i = 1; i < slices.size(); ++i)
        EXPECT_GE(slices[i].first, slices[i - 1].second - 1e-5)
            << "rank " << track.first << " track " << track.second;
    }
  }
  EXPECT_GT(beside, 0U);
}

TEST(TraceJson, ArrowsHaveTwoEnds) {
  const Written w = trace_of(pipeline(), true);
  std::map<std::int64_t, std::pair<int, int>> ends;
  for (const json& e : of_phase(w.events, "s")) ++ends[e.at("id").get<std::int64_t>()].first;
  for (const json& e : of_phase(w.events, "f")) ++ends[e.at("id").get<std::int64_t>()].second;
  ASSERT_FALSE(ends.empty());
  for (const auto& [id, sides] : ends) EXPECT_EQ(sides, (std::pair{1, 1})) << "arrow " << id;
}

// Both sides of a message are the same transfer: they run at the same time.
TEST(TraceJson, ArrowsJoinSidesOfOneTransfer) {
  const Written w = trace_of(pipeline(), true);
  std::map<Track, std::vector<json>> slices;
  for (const json& e : of_phase(w.events, "X"))
    if (e.at("name") != "wait") slices[track_of(e)].push_back(e);
  std::map<std::int64_t, double> begins;
  for (const json& e : of_phase(w.events, "s"))
    begins[e.at("id").get<std::int64_t>()] = e.at("ts").get<double>();
  int checked = 0;
  for (const json& f : of_phase(w.events, "f")) {
    const auto at = f.at("ts").get<double>();
    for (const json& e : slices.at(track_of(f))) {
      const double begin = e.at("ts").get<double>(), end = begin + e.at("dur").get<double>();
      if (at < begin || at > end) continue;
      EXPECT_NEAR(begin, begins.at(f.at("id").get<std::int64_t>()), 1e-5);
      ++checked;
    }
  }
  EXPECT_GT(checked, 0);
}

TEST(TraceJson, MemoryCountersReachThePeak) {
  const Written w = trace_of(pipeline(), false);
  std::map<std::int64_t, std::int64_t> peak;
  for (const json& e : of_phase(w.events, "C")) {
    const std::int64_t bytes = e.at("args").at("bytes").get<std::int64_t>();
    EXPECT_GE(bytes, 0);
    peak[e.at("pid").get<std::int64_t>()] = std::max(peak[e.at("pid").get<std::int64_t>()], bytes);
  }
  for (const StageResult& stage : w.prediction.result.stages)
    EXPECT_EQ(peak.at(stage.representative), stage.memory.peak.count());
}

TEST(TraceJson, TimesBeginAtTheStep) {
  const Written w = trace_of(pipeline(), false);
  double first = 1e300, last = 0.0;
  for (const json& e : of_phase(w.events, "X")) {
    first = std::min(first, e.at("ts").get<double>());
    last = std::max(last, e.at("ts").get<double>() + e.at("dur").get<double>());
  }
  EXPECT_EQ(first, 0.0);
  EXPECT_GE(last, 0.9e6 * w.prediction.result.step_time_s.value);
}

}  // namespace
}  // namespace orrery::sim
