// Damaged scenarios: whatever a file holds, reading it ends in findings or in a legal Scenario, never in a
// crash. Legal means that the equations hold, so that the rooms below need not check them. Bounded by a
// number of mutations.
#include <gtest/gtest.h>

#include <numeric>

#include "scenarios/fields.h"
#include "scenarios/override.h"
#include "tests/fuzz/mutator.h"
#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

void expect_legal(const Scenario& s, const std::string& what) {
  const Parallel& p = s.parallel;
  const Training& t = s.training;
  EXPECT_EQ(p.world(), s.cluster.gpus()) << what;
  EXPECT_EQ(t.global_batch, t.micro_batch * t.microbatches * p.dp) << what;
  EXPECT_GE(t.microbatches, 1) << what;
  EXPECT_EQ(static_cast<std::int64_t>(p.layers_of_stage.size()), p.pp * p.vpp) << what;
  EXPECT_EQ(std::accumulate(p.layers_of_stage.begin(), p.layers_of_stage.end(), std::int64_t{0}),
            s.model.layers)
      << what;
  EXPECT_EQ(s.model.heads % p.tp, 0) << what;
  EXPECT_EQ(s.model.kv_heads % p.tp, 0) << what;
  EXPECT_EQ(s.model.ffn_hidden % p.tp, 0) << what;
  EXPECT_TRUE(!p.sequence_parallel || t.sequence_length % p.tp == 0) << what;
  EXPECT_GT(s.cluster.gpu.peak(t.precision).value(), 0.0) << what;
}

// Reads a text; true when it was legal.
bool read_any(const std::string& text) {
  try {
    const testing::Read r = testing::read(text, "scenarios/fuzz.json");
    if (r.errors() > 0) return false;
    expect_legal(r.scenario, text);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

std::vector<std::string> seeds() {
  using testing::compose;
  using testing::Parts;
  return {
      compose(Parts{}),
      compose(Parts{
          .nodes = 16,
          .framework = "megatron",
          .parallel = R"("tp": 8, "sp": true, "pp": 4, "vpp": 2, "dp": "auto", "zero": 1, "order": "tp-dp-pp",
    "layers_per_stage": [4, 4, 4, 4, 4, 4, 4, 4])",
          .training = R"("global_batch": 512, "micro_batch": 2, "sequence_length": 2048, "precision": "fp16",
    "recompute": "full", "recompute_every": 2, "tokens": 3e11, "accumulation": 64)",
          .rest = R"("overlap": { "gradient_reduce": true, "bucket_size": "25 MiB", "prefetch_units": 2 },
  "kernels": { "fused_attention": false }, "recipe": { "gradient_bytes": 2 }, "offload": { "optimizer": "cpu" },
  "compression": { "top_k": 0.01 }, "network": { "algorithm": "ring", "protocol": "simple" },
  "measured": { "step_time": "9.69 s", "peak_memory": "18.6 GB", "comm_fraction": 0.35 })"}),
      R"({ "base": "scenarios/korthikanti/530b-present-dp8.json", "cluster": { "nodes": 35 }, "training": { "global_batch": 280 } })",
  };
}

TEST(ScenarioFuzz, MutatedTexts) {
  const std::vector<std::string> texts = seeds();
  for (const std::string& text : texts) ASSERT_TRUE(read_any(text)) << testing::read(text).text();
  int legal = 0;
  constexpr int kMutations = 30000;
  for (int i = 0; i < kMutations; ++i) {
    test::Mutator mutator(static_cast<std::uint64_t>(i));
    SCOPED_TRACE("mutation " + std::to_string(i));
    legal += read_any(mutator.mutate(mutator.pick(texts))) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(legal, 300);  // small damage is often harmless: the test also sees what lies behind the syntax
  EXPECT_LT(legal, kMutations / 2);
}

TEST(ScenarioFuzz, EveryPrefix) {
  for (const std::string& text : seeds())
    for (std::size_t length = 0; length < text.size(); ++length) read_any(text.substr(0, length));
}

// Every field with every odd value, alone and in pairs with another one.
TEST(ScenarioFuzz, OddValuesInEveryField) {
  const std::vector<std::string> odd = {"null",
                                        "true",
                                        "-1",
                                        "0",
                                        "1",
                                        "2",
                                        "3",
                                        "7",
                                        "1000000",
                                        "9223372036854775807",
                                        "1e308",
                                        "-0.5",
                                        "\"\"",
                                        "\"auto\"",
                                        "\"bf16\"",
                                        "[]",
                                        "[1, 1e9, -3]",
                                        "{}",
                                        "\"models/zoo/llama-2-7b.json\"",
                                        "{ \"base\": null }",
                                        "\"1 EiB\""};
  Diagnostics diagnostics;
  const Json plan = testing::parse(seeds()[1], diagnostics);
  std::vector<std::string> paths;
  for (const Field& field : fields()) paths.emplace_back(field.path);
  for (const char* more :
       {"model.layers", "model.hidden", "model.heads", "model.vocab", "model.max_positions", "cluster.nodes",
        "cluster.node.gpus", "cluster.gpu", "cluster.fabric.kind"})
    paths.emplace_back(more);
  for (std::size_t i = 0; i < paths.size(); ++i)
    for (const std::string& text : odd) {
      const Json value = testing::parse(text, diagnostics);
      test::Mutator chance(i);
      const Json other = testing::parse(odd[chance.below(odd.size())], diagnostics);
      const std::string what = paths[i] + " = " + text;
      for (const std::string& second : {std::string(), paths[(i * 7 + text.size()) % paths.size()]}) {
        Json json = apply_override(plan, paths[i], value);
        if (!second.empty()) json = apply_override(json, second, other);
        Diagnostics found;
        try {
          const Scenario s = resolve_scenario(json, found);
          if (!found.has_errors()) expect_legal(s, what);
        } catch (const InputError&) {
        }
      }
    }
}

}  // namespace
}  // namespace orrery::scenarios
