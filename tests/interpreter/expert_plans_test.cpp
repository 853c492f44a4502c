// Models with experts under every kind of plan: each gives what the textbook gives, in which every expert computes every
// token. The grid of experts (ETP x EP x EDP) is cut apart from that of the rest (TP x DP).
#include <gtest/gtest.h>

#include "schedule/compile.h"
#include "schedule/text.h"
#include "schedule/verify.h"
#include "tests/interpreter/named_plans.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"

namespace orrery::interpreter {
namespace {

using models::Architecture;
using scenarios::Scenario;

constexpr std::int64_t kSteps = 2;

struct Grid {
  std::int64_t tp = 1, dp = 1, ep = 1, etp = 1, pp = 1;
  int zero = 0;
};

void cut(Scenario& s, const Grid& g) {
  scenarios::Parallel& p = s.parallel;
  p.tp = g.tp;
  p.sequence_parallel = g.tp > 1;
  p.dp = g.dp;
  p.ep = g.ep;
  p.etp = g.etp;
  p.pp = g.pp;
  p.zero = g.zero;
  s.training.micro_batch = 2;
}

void expect_reference(const Architecture& a, const NamedPlan& plan, bool all_orders = false) {
  SCOPED_TRACE(a.name + ", " + plan.name);
  Scenario scenario = plain_scenario(a);
  plan.set(scenario);
  resolve(scenario);
  const schedule::Schedule compiled = schedule::compile(scenario);
  for (const schedule::Finding& f : schedule::verify(compiled)) ADD_FAILURE() << f.message;
  const Outcome reference = reference_outcome(scenario, kSteps);
  for (const Order order : {Order::round_robin, Order::random, Order::rank_last}) {
    if (order == Order::rank_last && !all_orders) continue;
    try {
      const Outcome outcome = run_plan(scenario, {.order = order, .seed = 5, .steps = kSteps});
      EXPECT_EQ(difference(outcome, reference), "") << "order " << static_cast<int>(order);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "order " << static_cast<int>(order) << ": " << error.what();
    }
  }
}

class ExpertModels : public testing::TestWithParam<const char*> {
 protected:
  Architecture model() const {
    return std::string(GetParam()) == "mixtral" ? tiny_mixtral() : tiny_deepseek();
  }
};

TEST_P(ExpertModels, OnOneRank) {
  expect_reference(model(), {"one rank", [](Scenario&) {}}, true);
  expect_reference(model(), {"accumulation", [](Scenario& s) { s.training.micro_batch = 2; }});
  expect_reference(model(), {"separate", [](Scenario& s) { s.kernels.fused_attention = s.kernels.fused_elementwise = false; }});
  expect_reference(model(), {"recomputed", [](Scenario& s) { s.training.recompute = scenarios::Recompute::full; }});
  expect_reference(model(), {"clipping", [](Scenario& s) { s.training.clip_gradient_norm = 0.1; }});
}

TEST_P(ExpertModels, OnEveryGrid) {
  for (const Grid& g : {Grid{.dp = 2}, Grid{.tp = 2, .etp = 1}, Grid{.tp = 2, .etp = 2}, Grid{.dp = 2, .ep = 2},
                        Grid{.dp = 4, .ep = 2}, Grid{.dp = 4, .ep = 4}, Grid{.tp = 2, .ep = 2}, Grid{.dp = 2, .etp = 2},
                        Grid{.tp = 2, .dp = 2, .ep = 2, .etp = 2}, Grid{.tp = 2, .dp = 2, .ep = 4},
                        Grid{.tp = 2, .dp = 2, .ep = 2}, Grid{.dp = 2, .ep = 2, .pp = 2},
                        Grid{.tp = 2, .dp = 2, .ep = 2, .etp = 2, .pp = 2}}) {
    const std::string name = "tp" + std::to_string(g.tp) + " dp" + std::to_string(g.dp) + " ep" + std::to_string(g.ep) +
                             " etp" + std::to_string(g.etp) + " pp" + std::to_string(g.pp);
    expect_reference(model(), {name, [g](Scenario& s) { cut(s, g); }});
    if (g.dp == 1) continue;
    for (const int zero : {1, 2, 3}) {
      if (g.pp > 1 && zero != 1) continue;
      expect_reference(model(), {name + " zero" + std::to_string(zero), [g, zero](Scenario& s) {
                                   Grid sharded = g;
                                   sharded.zero = zero;
                                   cut(s, sharded);
                                   s.training.clip_gradient_norm = 0.1;
                                 }});
    }
  }
}

// Weight gradients in blocks of their own, and exchanges of one microbatch beside products of another.
TEST_P(ExpertModels, UnderEverySchedule) {
  using scenarios::PipelineSchedule;
  for (const PipelineSchedule schedule :
       {PipelineSchedule::zero_bubble_h1, PipelineSchedule::zero_bubble_2p, PipelineSchedule::zero_bubble_v,
        PipelineSchedule::dual_pipe, PipelineSchedule::dual_pipe_v})
    for (const Grid& g : {Grid{.dp = 2, .ep = 2, .pp = 2}, Grid{.dp = 2, .ep = 1, .pp = 2, .zero = 1},
                          Grid{.tp = 2, .dp = 2, .ep = 2, .etp = 2, .pp = 2}})
      for (const bool recomputes : {false, true}) {
        if (recomputes && g.tp > 1) continue;
        expect_reference(model(), {std::to_string(static_cast<int>(schedule)) + " tp" + std::to_string(g.tp),
                                   [&](Scenario& s) {
                                     cut(s, g);
                                     s.model.layers = 4;
                                     s.training.micro_batch = 1;
                                     s.parallel.schedule = schedule;
                                     if (scenarios::traits(schedule).chunks != scenarios::Chunks::one) s.parallel.vpp = 2;
                                     s.overlap.pipeline = true;
                                     s.training.clip_gradient_norm = 0.1;
                                     if (recomputes) s.training.recompute = scenarios::Recompute::full;
                                   }});
      }
}

TEST_P(ExpertModels, WithExchangesBesideProducts) {
  for (const Grid& g : {Grid{.dp = 2, .ep = 2}, Grid{.dp = 2, .etp = 2}, Grid{.tp = 2, .dp = 2, .ep = 2, .etp = 2, .pp = 2}})
    expect_reference(model(), {"ep" + std::to_string(g.ep) + " etp" + std::to_string(g.etp), [&](Scenario& s) {
                                 cut(s, g);
                                 s.overlap.expert_exchange = true;
                                 s.overlap.tensor_backward = g.tp > 1;
                               }});
}

TEST_P(ExpertModels, WithEverythingAtOnce) {
  const Grid grid{.tp = 2, .dp = 2, .ep = 2, .etp = 1, .pp = 2, .zero = 1};
  expect_reference(model(), {"overlapped", [&](Scenario& s) {
                               cut(s, grid);
                               s.training.micro_batch = 1;
                               s.overlap.gradient_reduce = s.overlap.parameter_gather = s.overlap.pipeline = true;
                               s.overlap.bucket_elements = 1000;
                               s.training.clip_gradient_norm = 0.1;
                             }}, true);
  expect_reference(model(), {"recomputed", [&](Scenario& s) {
                               cut(s, grid);
                               s.training.recompute = scenarios::Recompute::full;
                             }});
}

TEST_P(ExpertModels, TextGivesTheSameSchedule) {
  Scenario s = plain_scenario(model());
  cut(s, {.dp = 4, .ep = 2, .etp = 2});
  resolve(s);
  const schedule::Schedule compiled = schedule::compile(s);
  Diagnostics diagnostics;
  const auto source = std::make_shared<const SourceFile>(SourceFile{"text", schedule::print(compiled)});
  EXPECT_EQ(schedule::parse(source, diagnostics), compiled);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.text();
}

INSTANTIATE_TEST_SUITE_P(All, ExpertModels, testing::Values("mixtral", "deepseek"),
                         [](const auto& tested) { return std::string(tested.param); });

// What has no room is dropped, by every plan that routes the same tokens together.
TEST(ExpertCapacity, DropsTheSameTokensOnEveryGrid) {
  const auto run = [](const Grid& grid) {
    Scenario s = plain_scenario(tiny_mixtral());
    cut(s, grid);
    s.experts.capacity_factor = 0.75;
    resolve(s);
    return run_plan(s, {.order = Order::round_robin, .seed = 5, .steps = kSteps});
  };
  const Outcome one = run({});
  Scenario dropless = plain_scenario(tiny_mixtral());
  cut(dropless, {});
  resolve(dropless);
  EXPECT_NE(difference(one, reference_outcome(dropless, kSteps)), "") << "nothing was dropped";
  for (const Grid& g : {Grid{.dp = 2}, Grid{.dp = 2, .ep = 2}, Grid{.dp = 4, .ep = 2, .etp = 2}})
    EXPECT_EQ(difference(run(g), one), "") << g.dp << " " << g.ep;
}

}  // namespace
}  // namespace orrery::interpreter
