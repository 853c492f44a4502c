// The zero-bubble paper's comparison (Qi et al. 2023, arXiv 2401.10241, table 4) on its four models: schedules in the
// published order in time, and in memory.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/cases/runs.h"

namespace orrery::cases {
namespace {

struct Published {
  double samples_per_s = 0.0, memory_gb = 0.0;
};
struct Setting {
  std::string name;
  std::vector<std::string> sets;
  std::string chunks;                        // of 1F1B interleaved
  std::map<std::string, Published> schedules;  // by word
};

std::vector<std::string> model(int layers, int hidden, int heads, int ranks, int micro_batch, int global_batch) {
  const auto field = [](const char* path, int value) { return std::string(path) + "=" + std::to_string(value); };
  return {field("model.layers", layers),         field("model.hidden", hidden),
          field("model.ffn_hidden", 4 * hidden), field("model.heads", heads),
          field("model.kv_heads", heads),        field("model.head_dim", hidden / heads),
          field("cluster.nodes", ranks / 8),     field("parallel.pp", ranks),
          field("training.micro_batch", micro_batch), field("training.global_batch", global_batch)};
}

const std::vector<Setting>& settings() {
  static const std::vector<Setting> kSettings = {
      {"1.5B, 24 microbatches", model(22, 2304, 24, 8, 6, 144), "3",
       {{"zb-2p", {116.0, 59.0}}, {"zb-1p", {103.2, 32.0}}, {"1f1b", {94.4, 30.0}}, {"interleaved", {104.8, 40.0}}}},
      {"6.2B, 24 microbatches", model(30, 4096, 32, 8, 3, 72), "4",
       {{"zb-2p", {34.56, 70.0}}, {"zb-1p", {31.04, 42.0}}, {"1f1b", {28.0, 39.0}}, {"interleaved", {32.08, 48.0}}}},
      {"14.6B, 64 microbatches", model(46, 5120, 40, 16, 1, 64), "3",
       {{"zb-2p", {29.28, 51.0}}, {"zb-1p", {26.72, 33.0}}, {"1f1b", {23.84, 32.0}}, {"interleaved", {25.44, 39.0}}}},
      {"28.3B, 96 microbatches", model(62, 6144, 48, 32, 1, 96), "2",
       {{"zb-2p", {31.68, 74.0}}, {"zb-1p", {27.84, 44.0}}, {"1f1b", {24.32, 43.0}}, {"interleaved", {26.24, 58.0}}}},
  };
  return kSettings;
}

std::map<std::string, Case> runs_of(const Setting& setting) {
  std::map<std::string, Case> runs;
  for (const auto& [word, published] : setting.schedules) {
    std::vector<std::string> sets = setting.sets;
    sets.push_back("parallel.schedule=" + word);
    if (word == "interleaved") sets.push_back("parallel.vpp=" + setting.chunks);
    runs.emplace(word, run_case("scenarios/zero-bubble/28b-zb-2p.json", sets));
  }
  return runs;
}

class ZeroBubble : public testing::TestWithParam<std::size_t> {};

TEST_P(ZeroBubble, OrdersAndProportionsAsPublished) {
  const Setting& setting = settings()[GetParam()];
  SCOPED_TRACE(setting.name);
  const std::map<std::string, Case> runs = runs_of(setting);
  const auto gain = [&](const std::string& word) { return runs.at("1f1b").step() / runs.at(word).step(); };
  const auto memory = [&](const std::string& word) { return runs.at(word).result.peak_memory_bytes.value; };
  // In time: 2p before 1p and interleaved, those before 1F1B. The paper does not state its vocabulary; GPT-2's makes the
  // head of the small models weigh as much as two layers, so the last rank sets the pace of both 2p and interleaved there.
  EXPECT_GT(gain("zb-2p"), gain("zb-1p"));
  EXPECT_GT(gain("zb-2p"), (GetParam() < 2 ? 0.97 : 1.0) * gain("interleaved"));
  EXPECT_GT(gain("zb-1p"), 1.0);
  EXPECT_GT(gain("interleaved"), 1.0);
  // In memory: 1p as 1F1B, interleaved above them, 2p about twice 1p's activations.
  EXPECT_LT(memory("zb-1p"), 1.15 * memory("1f1b"));
  EXPECT_GT(memory("interleaved"), memory("1f1b"));
  EXPECT_GT(memory("zb-2p"), memory("interleaved"));
  for (const auto& [word, published] : setting.schedules) {
    const Published& base = setting.schedules.at("1f1b");
    EXPECT_NEAR(gain(word), published.samples_per_s / base.samples_per_s, 0.10) << word;
    EXPECT_NEAR(memory(word) / memory("1f1b"), published.memory_gb / base.memory_gb, 0.25) << word;
  }
}
INSTANTIATE_TEST_SUITE_P(Models, ZeroBubble, testing::Range<std::size_t>(0, 4));

}  // namespace
}  // namespace orrery::cases
