// docs/cases/claims.md, the claim about experts: table and verdict.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "sim/report/text_layout.h"
#include "tests/cases/document.h"
#include "tests/cases/runs.h"

namespace orrery::cases {
namespace {

using sim::number_text;
using sim::percent_text;

struct Trained {
  double tokens = 0.0;  // a second and GPU
  double mfu = 0.0;
};

// --- a trillion-parameter MoE is 40 % more efficient than dense ---

TEST(ExpertsClaims, EfficiencyOfATrillionIsAMatterOfWhatItIsHeldAgainst) {
  struct Plan {
    const char* model;
    std::vector<std::string> sets;  // none: the experts' own
  };
  const auto dense = [](const char* tp, const char* pp) {
    return std::vector<std::string>{fmt::format("parallel.tp={}", tp), fmt::format("parallel.pp={}", pp),
                                    "parallel.layers_per_stage=balanced"};
  };
  const std::vector<Plan> plans = {{"MoE 1T-A32B", {}},
                                   {"qwen2.5-32b", dense("2", "2")},
                                   {"qwen2.5-72b", dense("2", "4")},
                                   {"llama-3.1-405b", dense("4", "16")},
                                   {"megatron-1t", dense("4", "32")}};
  Table table = {{"model", "plan", "parameters", "active", "tokens/s a GPU", "MFU", "GPU hours for 10^12 tokens"}};
  std::map<std::string, Trained> of;
  for (auto [name, sets] : plans) {
    if (!sets.empty()) sets.push_back(fmt::format("model=models/zoo/{}.json", name));
    const Case r = run_case(sets.empty() ? "scenarios/claims/trillion-experts.json" : "scenarios/claims/trillion-dense.json", sets);
    EXPECT_TRUE(r.fits()) << name;
    const models::Architecture& a = r.scenario.model;
    const scenarios::Parallel& p = r.scenario.parallel;
    const std::string plan = p.ep > 1 ? fmt::format("PP{} EP{}", p.pp, p.ep) : fmt::format("TP{} PP{}", p.tp, p.pp);
    of[name] = {r.result.tokens_per_s_per_gpu, r.result.mfu};
    table.push_back({name, plan, number_text(static_cast<double>(models::parameter_count(a)) / 1e9) + " B",
                     number_text(static_cast<double>(models::active_parameter_count(a)) / 1e9) + " B",
                     number_text(of[name].tokens), percent_text(of[name].mfu),
                     number_text(1e12 / of[name].tokens / 3600.0)});
  }
  const Trained& experts = of.at("MoE 1T-A32B");
  EXPECT_GT(experts.tokens, 12.0 * of.at("megatron-1t").tokens) << "held against as many parameters";
  EXPECT_LT(experts.tokens, 0.7 * of.at("qwen2.5-32b").tokens) << "held against as many active ones";
  EXPECT_LT(experts.mfu, 0.7 * of.at("qwen2.5-32b").mfu) << "FLOPs of a GPU";
  EXPECT_GT(experts.tokens, of.at("qwen2.5-72b").tokens);
  EXPECT_LT(experts.tokens, 1.4 * of.at("qwen2.5-72b").tokens);
  expect_block("docs/cases/claims.md", "experts", markdown(table));
}

}  // namespace
}  // namespace orrery::cases
