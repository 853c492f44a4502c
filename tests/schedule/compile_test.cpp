// The compiler over a small space of plans, exhaustively: every program is sound (verify), its text form reads back as
// itself, and its size does not depend on the number of microbatches.
#include "schedule/compile.h"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <tuple>

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
    {"full recomputation of some layers",
     [](scenarios::Scenario& s) {
       s.training.recompute = scenarios::Recompute::full;
       for (const std::int64_t layers : s.parallel.layers_of_stage) s.training.recompute_layers.push_back(layers / 2);
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

// Schedules that need messages on streams of their own.
template <typename Visit>
void for_each_split_plan(Visit&& visit) {
  using scenarios::PipelineSchedule;
  for (std::size_t number = 0; number < scenarios::kPipelineSchedules; ++number) {
    const auto schedule = static_cast<PipelineSchedule>(number);
    const scenarios::PipelineTraits& traits = scenarios::traits(schedule);
    if (!traits.sends_aside) continue;
    const bool mirrored = traits.placement == scenarios::PlacementKind::mirrored;
    for (const std::int64_t pp : {1, 2, 3, 4})
      for (const std::int64_t m : {1, 2, 3, 5, 8, 11, 12})
        for (const std::int64_t tp : {1, 2})
          for (const std::int64_t dp : {1, 2}) {
            const std::int64_t vpp = traits.chunks == scenarios::Chunks::one ? 1 : 2;
            if ((pp == 1 && (vpp > 1 || mirrored)) || (mirrored && (pp % 2 != 0 || m % 2 != 0))) continue;
            if (m < traits.microbatches_per_rank * pp) continue;
            visit(Plan{tp, pp, dp, vpp, dp > 1 ? 1 : 0, m, tp > 1, schedule});
          }
  }
}

class EverySplitPlan : public testing::TestWithParam<int> {};

TEST_P(EverySplitPlan, IsSound) {
  const Variant& variant = kVariants[GetParam()];
  int plans = 0, bad = 0;
  for (const bool tied : {false, true})
    for_each_split_plan([&](const Plan& plan) {
      if (bad > 3) return;
      const std::int64_t layers = plan.pp == 3 ? 6 : 8;
      scenarios::Scenario scenario = small_scenario(tied ? gpt_style(layers) : llama_style(layers), plan);
      variant.set(scenario);
      scenario.overlap.pipeline = true;
      const Schedule schedule = compile(scenario);
      const std::string found = findings(schedule);
      EXPECT_EQ(found, "") << variant.name << ", " << describe(plan);
      if (!found.empty()) ++bad;
      ++plans;
    });
  EXPECT_GT(plans, 400);
}
INSTANTIATE_TEST_SUITE_P(Variants, EverySplitPlan, testing::Range(0, static_cast<int>(std::size(kVariants))));

// Every chunk runs each of its microbatches F, then B, then W, and half of DualPipe's go each way.
TEST(Compile, SplitOrdersVisitEverythingOnce) {
  using scenarios::PipelineSchedule;
  for_each_split_plan([&](const Plan& plan) {
    if (plan.tp > 1 || plan.dp > 1) return;
    const bool mirrored = plan.schedule == PipelineSchedule::dual_pipe;
    const PipelineShape shape{.stages = plan.pp,
                              .chunks = mirrored ? 2 : plan.vpp,
                              .microbatches = plan.microbatches,
                              .times = std::vector<StageTimes>(static_cast<std::size_t>(plan.pp), {100, 110, 90})};
    for (const Order& order : pipeline_orders(plan.schedule, shape)) {
      std::map<std::pair<std::uint32_t, std::uint32_t>, std::string> seen;
      for (const Action& a : order)
        seen[{a.chunk, a.microbatch}] += is_forward(a) ? "F" : a.kind == ActionKind::backward_input ? "B" : a.kind == ActionKind::backward ? "BW" : "W";
      EXPECT_EQ(static_cast<std::int64_t>(seen.size()), shape.microbatches * (mirrored ? 1 : shape.chunks)) << describe(plan);
      for (const auto& [what, actions] : seen) EXPECT_EQ(actions, "FBW") << describe(plan);
    }
  });
}

// The longest that a rank of one chunk takes from its first action to its last; messages take no time.
std::int64_t longest_span(const std::vector<Order>& orders, const std::vector<StageTimes>& times) {
  std::map<std::tuple<char, std::size_t, std::uint32_t>, std::int64_t> ends;
  std::vector<std::int64_t> free(orders.size(), 0), first(orders.size(), -1);
  std::vector<std::size_t> next(orders.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < orders.size(); ++r)
      while (next[r] < orders[r].size()) {
        const Action& a = orders[r][next[r]];
        std::int64_t start = free[r];
        const bool needs_previous = is_forward(a) && r > 0, needs_next = gives_gradient(a) && r + 1 < orders.size();
        if (needs_previous || needs_next) {
          const auto needed = ends.find({needs_previous ? 'F' : 'B', needs_previous ? r - 1 : r + 1, a.microbatch});
          if (needed == ends.end()) break;
          start = std::max(start, needed->second);
        }
        if (first[r] < 0) first[r] = start;
        free[r] = start + (is_forward(a) ? times[r].forward : gives_gradient(a) ? times[r].input : times[r].weight);
        if (a.kind != ActionKind::backward_weight) ends[{is_forward(a) ? 'F' : 'B', r, a.microbatch}] = free[r];
        ++next[r];
        moved = true;
      }
  }
  std::int64_t longest = 0;
  for (std::size_t r = 0; r < orders.size(); ++r) {
    EXPECT_EQ(next[r], orders[r].size());
    longest = std::max(longest, free[r] - first[r]);
  }
  return longest;
}

// Within the same limit of memory never slower than by hand; with a slow last rank there is no bubble but its own start.
TEST(Compile, AutomaticOrdersAreNoWorseThanByHand) {
  using scenarios::PipelineSchedule;
  for (const std::int64_t p : {2, 4, 8})
    for (const std::int64_t m : {p, 2 * p, 4 * p})
      for (const StageTimes& t : {StageTimes{100, 100, 100}, StageTimes{100, 120, 80}, StageTimes{100, 150, 90}}) {
        PipelineShape shape{.stages = p, .microbatches = m, .times = std::vector<StageTimes>(static_cast<std::size_t>(p), t)};
        const auto span = [&](PipelineSchedule s) { return longest_span(pipeline_orders(s, shape), shape.times); };
        EXPECT_LE(span(PipelineSchedule::zero_bubble_1p), span(PipelineSchedule::zero_bubble_h1)) << p << " " << m;
        EXPECT_LE(span(PipelineSchedule::zero_bubble_2p), span(PipelineSchedule::zero_bubble_h2)) << p << " " << m;
        shape.times.back() = {t.forward * 3 / 2, t.input * 3 / 2, t.weight * 3 / 2};
        if (m >= 2 * p) {
          const StageTimes& slow = shape.times.back();
          EXPECT_EQ(span(PipelineSchedule::zero_bubble_2p), m * (slow.forward + slow.input + slow.weight)) << p << " " << m;
        }
      }
}

TEST(Compile, MicrobatchesInFlight) {
  for (std::int64_t p = 2; p <= 6; ++p)
    for (std::int64_t rank = 0; rank < p; ++rank) {
      const PipelineShape shape{.stages = p, .microbatches = 4 * p, .times = std::vector<StageTimes>(static_cast<std::size_t>(p), {100, 110, 90})};
      EXPECT_EQ(microbatches_in_flight(zero_bubble_h1_order(shape, rank)), p);
      EXPECT_EQ(microbatches_in_flight(zero_bubble_h2_order(shape, rank)), 2 * p - 1);
      const auto most = [&](scenarios::PipelineSchedule s) {
        return microbatches_in_flight(pipeline_orders(s, shape)[static_cast<std::size_t>(rank)]);
      };
      EXPECT_LE(most(scenarios::PipelineSchedule::zero_bubble_1p), p);
      EXPECT_LE(most(scenarios::PipelineSchedule::zero_bubble_2p), 2 * p);
      for (std::int64_t limit = 1; limit <= 2 * p; ++limit) {
        PipelineShape limited = shape;
        limited.in_flight = limit;
        limited.microbatches = limit % 2 == 0 ? 4 * p : 9 * p;  // scheduled as a whole, or made longer
        const Order order = zero_bubble_auto_orders(limited)[static_cast<std::size_t>(rank)];
        EXPECT_LE(microbatches_in_flight(order), limit);
      }
    }
}

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

TEST(Compile, TextOfSplitPlansReadsBackAsItself) {
  int n = 0;
  for_each_split_plan([&](const Plan& plan) {
    if ((n++ % 7) != 0) return;
    scenarios::Scenario scenario = small_scenario(llama_style(plan.pp == 3 ? 6 : 8), plan);
    scenario.overlap.pipeline = true;
    const Schedule s = compile(scenario);
    Diagnostics diagnostics;
    const Schedule back = parse(std::make_shared<const SourceFile>(SourceFile{"printed", print(s)}), diagnostics);
    ASSERT_FALSE(diagnostics.has_errors()) << diagnostics.text().substr(0, 1000);
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
  using scenarios::PipelineSchedule;
  const auto size = [](std::int64_t m, PipelineSchedule schedule) {
    const std::int64_t vpp = scenarios::traits(schedule).chunks == scenarios::Chunks::one ? 1 : 2;
    scenarios::Scenario scenario =
        small_scenario(gpt_style(8), {.pp = 4, .vpp = vpp, .microbatches = m, .schedule = schedule});
    scenario.overlap.pipeline = true;
    const Schedule s = compile(scenario);
    std::size_t calls = 0;
    for (const Program& p : s.programs) calls += p.calls.size();
    return calls;
  };
  for (std::size_t number = 0; number < scenarios::kPipelineSchedules; ++number)
    EXPECT_EQ(size(64, static_cast<PipelineSchedule>(number)), size(32768, static_cast<PipelineSchedule>(number))) << number;
}

// In F&B a layer's forward and a layer's backward are cut behind their collectives and take turns.
TEST(Compile, ForwardsAndBackwardsTakeTurnsInDualPipe) {
  scenarios::Scenario scenario = small_scenario(
      llama_style(8), {.tp = 2, .pp = 2, .vpp = 2, .microbatches = 8, .schedule = scenarios::PipelineSchedule::dual_pipe_v});
  scenario.overlap.pipeline = true;
  for (const Program& p : compile(scenario).programs) {
    const auto ends_in_collective = [&](const Call& call, const char* name) {
      const Block& block = p.block(call);
      const Op& last = p.ops_of(block).back();
      return block.name == name && is_collective(last.kind) && last.stream == Stream::tensor;
    };
    int turns = 0;
    for (std::size_t c = 0; c + 1 < p.calls.size(); ++c)
      if (ends_in_collective(p.calls[c], "layer.backward") && ends_in_collective(p.calls[c + 1], "layer.forward")) ++turns;
    EXPECT_GT(turns, 0) << p.name;
  }
}

// Activations at the peak, in bytes, of the rank that has most.
std::int64_t most_activations(scenarios::PipelineSchedule schedule, std::int64_t m) {
  const std::int64_t vpp = scenarios::traits(schedule).chunks == scenarios::Chunks::one ? 1 : 2;
  scenarios::Scenario scenario =
      small_scenario(llama_style(8), {.pp = 4, .vpp = vpp, .microbatches = m, .schedule = schedule});
  scenario.overlap.pipeline = true;
  scenario.training.sequence_length = 64;  // activations are most of the memory
  std::int64_t most = 0;
  for (const Program& p : compile(scenario).programs)
    most = std::max(most, memory_peak(p).by_kind[static_cast<std::size_t>(BufferKind::activation)].count());
  return most;
}

TEST(Compile, PeakMemoryIsFlatInMicrobatches) {
  using scenarios::PipelineSchedule;
  for (std::size_t number = 0; number < scenarios::kPipelineSchedules; ++number) {
    const auto schedule = static_cast<PipelineSchedule>(number);
    // These keep all of them.
    if (schedule == PipelineSchedule::gpipe || schedule == PipelineSchedule::breadth_first) continue;
    EXPECT_EQ(most_activations(schedule, 24), most_activations(schedule, 4000)) << number;
  }
  EXPECT_GT(most_activations(PipelineSchedule::gpipe, 4000), 100 * most_activations(PipelineSchedule::gpipe, 24));
}

// Activation bytes that a block leaves behind: what it allocates less what it frees.
std::int64_t left_behind(const Program& p, const std::string& name) {
  std::int64_t bytes = 0;
  for (const Block& block : p.blocks) {
    if (block.name != name) continue;
    for (const Op& op : p.ops_of(block))
      for (const View& view : p.views_of(op)) {
        const Buffer& buffer = p.buffer(block, view);
        if (buffer.kind != BufferKind::activation) continue;
        bytes += (view.allocates ? buffer.bytes().count() : 0) - (view.frees ? buffer.bytes().count() : 0);
      }
    return bytes;
  }
  ADD_FAILURE() << "no block " << name;
  return 0;
}

// Qi et al. 2023, table 1: W keeps the inputs of the four linear layers and the gradients of their outputs, 16 h + 4 f
// bytes a token and layer at 16 bits, so 32 h where f = 4 h; and nothing is left behind it.
TEST(Compile, KeptBetweenBackwardAndWeightGradients) {
  for (const models::Architecture& model : {gpt_style(2), llama_style(2)}) {
    scenarios::Scenario s = small_scenario(
        model, {.pp = 1, .microbatches = 2, .schedule = scenarios::PipelineSchedule::zero_bubble_h1});
    const Program p = compile(s).programs.front();
    const std::int64_t tokens = s.training.micro_batch * s.training.sequence_length, h = model.hidden;
    const std::int64_t kv = model.kv_heads * model.head_dim, f = model.ffn_hidden;
    const std::int64_t up = models::gated(model.activation) ? 2 * f : f;
    const std::int64_t kept = 2 * tokens * ((h + h + h + f) + (h + 2 * kv + h + up + h));
    EXPECT_EQ(left_behind(p, "layer.forward") + left_behind(p, "layer.backward"), kept) << model.name;
    EXPECT_EQ(left_behind(p, "layer.weight_gradients"), -kept) << model.name;
  }
}

// Qi et al. 2023, table 2 and section 6: H1 and ZB-V stay at 1F1B's, H2 goes to almost twice that.
TEST(Compile, MemoryOfZeroBubbleSchedules) {
  using scenarios::PipelineSchedule;
  const auto of = [](PipelineSchedule s) { return static_cast<double>(most_activations(s, 24)); };
  const double base = of(PipelineSchedule::one_f_one_b);
  EXPECT_NEAR(of(PipelineSchedule::zero_bubble_h1) / base, 1.0, 0.15);
  EXPECT_NEAR(of(PipelineSchedule::zero_bubble_v) / base, 1.0, 0.2);
  EXPECT_NEAR(of(PipelineSchedule::zero_bubble_h2) / base, 7.0 / 4.0, 0.25);
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
            EXPECT_EQ(state, is_forward(a) ? 0 : 1);
            ++state;
          }
          for (const int state : seen) EXPECT_EQ(state, 2);
        }
}

}  // namespace
}  // namespace orrery::schedule
