// Low-precision plans move the same numbers through the same products: in doubles, where a cast changes
// nothing, they give exactly what one rank gives; and what they read is of the types that the recipe says.
#include <gtest/gtest.h>

#include "schedule/compile.h"
#include "schedule/memory.h"
#include "tests/interpreter/named_plans.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"

namespace orrery::interpreter {
namespace {

using scenarios::Scaling;
using scenarios::Scenario;

const std::vector<NamedPlan>& plans() {
  static const std::vector<NamedPlan> kPlans = {
      {"one rank", [](Scenario&) {}},
      {"accumulation", [](Scenario& s) { s.training.micro_batch = 2; }},
      {"TP2", [](Scenario& s) { s.parallel.tp = 2; }},
      {"TP2 with SP, overlapped backward",
       [](Scenario& s) {
         sequence_parallel(s);
         s.overlap.tensor_backward = true;
       }},
      {"full recomputation", [](Scenario& s) { s.training.recompute = scenarios::Recompute::full; }},
      {"selective recomputation",
       [](Scenario& s) { s.training.recompute = scenarios::Recompute::selective; }},
      {"ZeRO-1, gathered with the forward",
       [](Scenario& s) {
         zero_stage(s, 1);
         s.overlap.parameter_gather = true;
       }},
      {"ZeRO-3", [](Scenario& s) { zero_stage(s, 3); }},
      {"three dimensions", three_dimensional},
  };
  return kPlans;
}

class LowPrecision : public testing::TestWithParam<std::tuple<NamedPlan, Scaling>> {};

TEST_P(LowPrecision, MovesTheSameNumbers) {
  const auto& [plan, scaling] = GetParam();
  for (const models::Architecture& a : {tiny_gpt(), tiny_llama(), tiny_falcon()}) {
    Scenario s = plain_scenario(a);
    plan.set(s);
    s.recipe.scaling = scaling;
    resolve(s);
    const Outcome reference = reference_outcome(s, 2);
    for (const Order order : {Order::rank_first, Order::random})
      EXPECT_EQ(difference(run_plan(s, {.order = order, .seed = 4, .steps = 2}), reference), "") << a.name;
  }
}

std::string name_of(const testing::TestParamInfo<LowPrecision::ParamType>& info) {
  return test_name(std::get<0>(info.param)) + "_" + std::to_string(static_cast<int>(std::get<1>(info.param)));
}
INSTANTIATE_TEST_SUITE_P(All, LowPrecision,
                         testing::Combine(testing::ValuesIn(plans()),
                                          testing::Values(Scaling::delayed, Scaling::current, Scaling::block,
                                                          Scaling::mx, Scaling::nvfp4)),
                         name_of);

std::int64_t products_of(const schedule::Schedule& s, schedule::DataType type) {
  std::int64_t found = 0;
  for (const schedule::Program& p : s.programs)
    for (const schedule::Op& op : p.ops) {
      if (op.kind != schedule::OpKind::gemm) continue;
      std::int64_t operands = 0;
      for (const schedule::View& v : p.views_of(op))
        operands += p.buffer(p.block_of(op), v).type == type ? 1 : 0;
      EXPECT_TRUE(operands == 0 || operands == 2) << "both operands or none";
      found += operands / 2;
    }
  return found;
}

// Four linear products of a layer, forward and two backward each; not the head's three.
TEST(LowPrecisionProducts, AreTheLayersLinearOnes) {
  for (const bool four : {false, true}) {
    Scenario s = plain_scenario(tiny_llama());
    s.recipe.scaling = four ? Scaling::nvfp4 : Scaling::delayed;
    resolve(s);
    EXPECT_EQ(products_of(schedule::compile(s), four ? schedule::DataType::fp4 : schedule::DataType::fp8),
              4 * 3);
  }
}

// Live bytes of activations that one more layer adds at the peak.
std::int64_t kept_by_a_layer(Scaling scaling) {
  const auto activations = [&](std::int64_t layers) {
    Scenario s = plain_scenario(tiny_llama());
    s.recipe.scaling = scaling;
    s.model.layers = layers;
    s.training.sequence_length = 512;  // every tensor is a multiple of the allocation grain
    resolve(s);
    const schedule::MemoryPeak peak = schedule::memory_peak(schedule::compile(s).programs.front());
    return peak.by_kind[static_cast<std::size_t>(schedule::BufferKind::activation)].count();
  };
  return activations(5) - activations(4);
}

// Kept for the backward: 8-bit copies in the place of two norms and the MLP's activation, and beside the
// attention's output: h + h + f - q bytes a token less than in 16 bits.
TEST(LowPrecisionMemory, KeepsCopiesInsteadOfActivations) {
  const models::Architecture a = tiny_llama();
  const std::int64_t tokens = 8 * 512, h = a.hidden, f = a.ffn_hidden, q = a.heads * a.head_dim;
  EXPECT_EQ(kept_by_a_layer(Scaling::none) - kept_by_a_layer(Scaling::delayed), tokens * (h + h + f - q));
  // 4 bits, and a byte for each 16 elements.
  const std::int64_t low = tokens * (h + h + f + q);
  EXPECT_EQ(kept_by_a_layer(Scaling::none) - kept_by_a_layer(Scaling::nvfp4),
            tokens * 2 * (h + h + f) - low / 2 - low / 16);
}

}  // namespace
}  // namespace orrery::interpreter
