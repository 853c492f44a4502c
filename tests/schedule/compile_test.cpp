// The compiler over a small space of plans, exhaustively: every program is sound (verify), its text form reads back as
// itself, and its size does not depend on the number of microbatches.
#include "schedule/compile.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include "schedule/memory.h"
#include "schedule/compile/pipeline_order.h"
#include "schedule/text.h"
#include "schedule/verify.h"
#include "tests/schedule/small_scenarios.h"

namespace orrery::schedule {
namespace {

std::string describe(const Plan& p) {
  return fmt::format("tp{} pp{} dp{} vpp{} zero{} m{} sp{} schedule{}", p.tp, p.pp, p.dp, p.vpp, p.zero, p.microbatches,
                     p.sequence_parallel, static_cast<int>(p.schedule));
}

std::string findings(const Schedule& s) {
  std::string text;
  for (const Finding& f : verify(s)) {
    text += f.message + "\n";
    for (const std::string& line : f.lines) text += "  " + line + "\n";
  }
  return text.substr(0, 2000);
}

bool legal(const models::Architecture& a, const Plan& p) {
  if (p.vpp > 1 && p.pp == 1) return false;
  if (p.sequence_parallel && p.tp == 1) return false;
  if (p.zero > 0 && p.dp == 1) return false;
  return !(a.tied_embeddings && p.pp > 1 && p.zero >= 2);
}

// Legality refuses the others: with blocking exchanges, groups that are no multiple of the stages can deadlock.
bool blocking_exchange_is_legal(std::int64_t pp, std::int64_t m) { return m <= pp || m % pp == 0; }

template <typename Visit>
void for_each_plan(Visit&& visit) {
  using scenarios::PipelineSchedule;
  for (const std::int64_t tp : {1, 2})
    for (const std::int64_t pp : {1, 2, 4})
      for (const std::int64_t dp : {1, 2})
        for (const std::int64_t vpp : {1, 2})
          for (const int zero : {0, 1, 2, 3})
            for (const std::int64_t m : {1, 2, 3, 5, 8})
              for (const bool sp : {false, true})
                for (const PipelineSchedule schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b}) {
                  if (vpp > 1 && schedule == PipelineSchedule::gpipe) continue;
                  visit(Plan{tp, pp, dp, vpp, zero, m, sp, schedule});
                }
}

// One switch of a scenario at a time, on every plan.
struct Variant {
  const char* name;
  void (*set)(scenarios::Scenario&);
};
const Variant kVariants[] = {
    {"plain", [](scenarios::Scenario&) {}},
    {"nothing overlaps", [](scenarios::Scenario& s) { s.overlap.gradient_reduce = false; }},
    {"everything overlaps",
     [](scenarios::Scenario& s) {
       s.overlap.gradient_reduce = s.overlap.pipeline = s.overlap.tensor_backward = s.overlap.parameter_gather = true;
     }},
    {"full recomputation", [](scenarios::Scenario& s) { s.training.recompute = scenarios::Recompute::full; }},
    {"full recomputation, every second layer",
     [](scenarios::Scenario& s) {
       s.training.recompute = scenarios::Recompute::full;
       s.training.recompute_every = 2;
     }},
    {"separate kernels, selective",
     [](scenarios::Scenario& s) {
       s.kernels.fused_attention = s.kernels.fused_softmax = s.kernels.fused_elementwise = false;
       s.training.recompute = scenarios::Recompute::selective;
     }},
    {"small buckets", [](scenarios::Scenario& s) { s.overlap.bucket_elements = 700; }},
    {"offload", [](scenarios::Scenario& s) { s.offload.optimizer = scenarios::OffloadTarget::cpu; }},
    {"compression", [](scenarios::Scenario& s) { s.compression.top_k = 0.1; }},
};

void compile_and_verify(const models::Architecture& a, const Variant& variant) {
  int plans = 0, bad = 0;
  for_each_plan([&](const Plan& plan) {
    if (!legal(a, plan) || bad > 3) return;
    scenarios::Scenario scenario = small_scenario(a, plan);
    variant.set(scenario);
    if (plan.vpp > 1 && !scenario.overlap.pipeline && !blocking_exchange_is_legal(plan.pp, plan.microbatches)) return;
    const Schedule schedule = compile(scenario);
    const std::string found = findings(schedule);
    EXPECT_EQ(found, "") << a.name << ", " << variant.name << ", " << describe(plan);
    if (!found.empty()) ++bad;
    ++plans;
  });
  EXPECT_GT(plans, 100);
}

class EveryPlan : public testing::TestWithParam<int> {};

TEST_P(EveryPlan, OfAGptIsSound) { compile_and_verify(gpt_style(8), kVariants[GetParam()]); }
TEST_P(EveryPlan, OfALlamaIsSound) { compile_and_verify(llama_style(8), kVariants[GetParam()]); }

INSTANTIATE_TEST_SUITE_P(Variants, EveryPlan, testing::Range(0, static_cast<int>(std::size(kVariants))));

TEST(Compile, TextReadsBackAsItself) {
  int n = 0;
  for_each_plan([&](const Plan& plan) {
    if (!legal(gpt_style(8), plan) || (n++ % 7) != 0) return;
    const Schedule s = compile(small_scenario(gpt_style(8), plan));
    const std::string text = print(s);
    Diagnostics diagnostics;
    const Schedule back = parse(std::make_shared<const SourceFile>(SourceFile{"printed", text}), diagnostics);
    ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.text().substr(0, 1000);
    EXPECT_EQ(print(back), text) << describe(plan);
    EXPECT_TRUE(back == s) << describe(plan);
  });
}

TEST(Compile, EndsWithoutLayersAreSound) {
  for (const bool tied : {false, true})
    for (const std::int64_t vpp : {1, 2})
      for (const bool overlap : {false, true})
        for (const std::int64_t m : {2, 4, 8}) {
          const Plan plan{.pp = 2, .vpp = vpp, .microbatches = m};
          scenarios::Scenario s = small_scenario(tied ? gpt_style(8) : llama_style(8), plan);
          s.overlap.pipeline = overlap;
          s.parallel.layers_of_stage = vpp == 1 ? std::vector<std::int64_t>{8, 0} : std::vector<std::int64_t>{0, 4, 4, 0};
          EXPECT_EQ(findings(compile(s)), "") << tied << " " << describe(plan) << " " << overlap;
        }
}

// Any number of microbatches, with blocking exchanges and with overlapped messages.
TEST(Compile, InterleavingTakesAnyNumberOfMicrobatches) {
  std::string bad;
  for (const std::int64_t pp : {2, 3, 4, 8})
    for (const std::int64_t vpp : {2, 3, 4})
      for (std::int64_t m = 1; m <= 3 * pp + 1; ++m)
        for (const bool overlap : {false, true}) {
          if (!overlap && !blocking_exchange_is_legal(pp, m)) continue;
          scenarios::Scenario s = small_scenario(llama_style(pp * vpp), {.pp = pp, .vpp = vpp, .microbatches = m});
          s.overlap.pipeline = overlap;
          if (const std::string found = findings(compile(s)); !found.empty())
            bad += fmt::format("pp{} vpp{} m{} overlap {}: {}\n", pp, vpp, m, overlap, found.substr(0, 80));
        }
  EXPECT_EQ(bad, "");
}

TEST(Compile, SizeDoesNotDependOnMicrobatches) {
  const auto size = [](std::int64_t m) {
    const Schedule s = compile(small_scenario(gpt_style(8), {.pp = 4, .microbatches = m}));
    std::size_t calls = 0;
    for (const Program& p : s.programs) calls += p.calls.size();
    return calls;
  };
  EXPECT_EQ(size(64), size(32768));
}

TEST(Compile, OneForwardOneBackwardHoldsMinMAndPMinusStage) {
  for (std::int64_t p = 1; p <= 6; ++p)
    for (std::int64_t m = 1; m <= 9; ++m)
      for (std::int64_t stage = 0; stage < p; ++stage)
        EXPECT_EQ(microbatches_in_flight(one_f_one_b_order({p, 1, m}, stage)), std::min(m, p - stage));
}

TEST(Compile, InterleavedOrderVisitsEverythingOnce) {
  for (std::int64_t p = 2; p <= 4; ++p)
    for (std::int64_t v = 2; v <= 3; ++v)
      for (std::int64_t m = 1; m <= 13; ++m)
        for (std::int64_t stage = 0; stage < p; ++stage) {
          std::vector<int> seen(static_cast<std::size_t>(m * v), 0);
          for (const Action& a : interleaved_order({p, v, m}, stage)) {
            int& state = seen[a.microbatch * static_cast<std::size_t>(v) + a.chunk];
            EXPECT_EQ(state, a.backward ? 1 : 0);
            ++state;
          }
          for (const int state : seen) EXPECT_EQ(state, 2);
        }
}

}  // namespace
}  // namespace orrery::schedule
