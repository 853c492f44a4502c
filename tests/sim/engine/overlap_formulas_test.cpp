// What hides what, against closed formulas: weight gradients of the output layer in the pipeline's drain
// (docs/models/schedules.md), and tensor-parallel collectives beside chunks of products (docs/models/tensor-overlap.md).
// Kernels and messages take given times; everything else takes none.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/compile.h"
#include "schedule/kernel_work.h"
#include "sim/engine/simulation.h"
#include "tests/schedule/small_scenarios.h"
#include "tests/sim/engine/small_schedule.h"

namespace orrery::sim::test {
namespace {

// --- deferred weight gradients of the output layer

struct Times {
  std::int64_t f = 1000, b = 2000;                          // of a stage's layer
  std::int64_t head_f = 300, head_b = 300, head_w = 300;  // of the output layer; w: its weight gradient
};

// The first op of a block takes the block's time.
class BlockCost : public KernelCost {
 public:
  explicit BlockCost(const Times& times) : t_(times) {}
  KernelTime time(const schedule::Program& program, const schedule::Op& op, const schedule::KernelShape&) const override {
    const schedule::Block& block = program.block_of(op);
    if (&op != program.ops.data() + block.first_op) return {};
    std::int64_t ps = 0;
    if (block.name == "layer.forward") ps = t_.f;
    if (block.name == "layer.backward") ps = t_.b;
    if (block.name == "head.forward") ps = t_.head_f;
    if (block.name == "head.backward") ps = t_.head_b + t_.head_w;
    if (block.name == "head.backward.deferring") ps = t_.head_b;
    if (block.name == "head.weight_gradients") ps = t_.head_w;
    return {.time = Duration::from_ps(ps), .origin = Origin::exact};
  }

 private:
  Times t_;
};

// `clips`: the gradients' norm joins the ranks at the end of the step.
SimulationResult pipeline(std::int64_t p, std::int64_t m, std::int64_t deferred, const Times& t, bool clips = true,
                          const SimulationOptions& options = {}) {
  scenarios::Scenario s = schedule::small_scenario(schedule::llama_style(p), {.pp = p, .microbatches = m});
  s.overlap.pipeline = true;
  s.overlap.deferred_microbatches = deferred;
  s.training.clip_gradient_norm = clips ? 1.0 : 0.0;
  const MachineShape machine{.world = p, .ps_per_byte = 0};
  return simulate(schedule::compile(s), small_cluster(), BlockCost(t), SmallNetwork(machine), options);
}

// The last stage is the slowest, and always busy between the first forward that reaches it and its last backward. Then it
// does k weight gradients while the other stages drain; and where nothing joins the ranks, while they fill the next step, too.
std::int64_t formula(std::int64_t p, std::int64_t m, std::int64_t k, const Times& t, bool clips) {
  const std::int64_t whole = t.f + t.b + t.head_f + t.head_b + t.head_w;
  if (!clips) return m * whole + std::max((p - 1) * (t.f + t.b) - k * t.head_w, std::int64_t{0});
  return (p - 1) * t.f + m * whole - k * t.head_w + std::max((p - 1) * t.b, k * t.head_w);
}

TEST(DeferredWeightGradients, HideInTheDrain) {
  for (const Times& t : {Times{}, Times{1000, 2000, 400, 300, 700}, Times{1000, 2000, 900, 900, 2900}})
    for (const std::int64_t p : {2, 3, 4, 8})
      for (const std::int64_t m : {4, 8, 20})
        for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, m / 2, m})
          for (const bool clips : {true, false})
            EXPECT_EQ(pipeline(p, m, k, t, clips).step_time.ps(), formula(p, m, k, t, clips)) << p << " " << m << " " << k << clips;
}

TEST(DeferredWeightGradients, GainAtMostTheDrain) {
  const Times t{1000, 2000, 900, 900, 2900};
  const std::int64_t p = 4, m = 20, before = pipeline(p, m, 0, t).step_time.ps();
  for (std::int64_t k = 1; k <= m; ++k) {
    const std::int64_t gain = before - pipeline(p, m, k, t).step_time.ps();
    EXPECT_EQ(gain, std::min(k * t.head_w, (p - 1) * t.b)) << k;
  }
}

TEST(DeferredWeightGradients, ExtrapolatedIsTheFullRun) {
  for (const std::int64_t k : {3, 40, 64, 90, 128}) {
    const SimulationResult fast = pipeline(4, 128, k, {}), full = pipeline(4, 128, k, {}, true, {.extrapolate = false});
    EXPECT_EQ(fast.step_time, full.step_time) << k;
    EXPECT_TRUE(fast.exact);
    for (std::size_t c = 0; c < full.classes.size(); ++c) EXPECT_EQ(fast.classes[c].waterfall, full.classes[c].waterfall);
  }
}

// --- chunks of products beside collectives

// A product takes a time for each FLOP, so chunks take what the whole takes.
class FlopCost : public KernelCost {
 public:
  explicit FlopCost(std::int64_t flops_per_ps) : per_ps_(flops_per_ps) {}
  KernelTime time(const schedule::Program& program, const schedule::Op& op, const schedule::KernelShape& shape) const override {
    if (op.kind != schedule::OpKind::gemm) return {};
    const double flops = schedule::work_of(program, op, shape).flops.value();
    return {.time = Duration::from_ps(static_cast<std::int64_t>(flops) / per_ps_), .origin = Origin::exact};
  }

 private:
  std::int64_t per_ps_;
};

struct Layer {
  std::int64_t time = 0, products = 0, messages = 0;
  std::int64_t formula = 0;  // sum over pairs of a collective and its product
};

// One layer's forward alone, with tp 2 and sequence parallelism: four pairs that follow one another, since norms and
// attention between them read all rows.
Layer one_forward(std::int64_t chunks, std::int64_t ps_per_byte, std::int64_t flops_per_ps = 8) {
  scenarios::Scenario s = schedule::small_scenario(schedule::llama_style(1), {.tp = 2, .microbatches = 1, .sequence_parallel = true});
  s.overlap.tensor_chunks = chunks;
  s.overlap.tensor_backward = true;
  schedule::Schedule compiled = schedule::compile(s);
  schedule::Program& p = compiled.programs.front();
  std::erase_if(p.calls, [&](const schedule::Call& call) { return p.block(call).name != "layer.forward"; });
  p.repeats.clear();
  Layer layer;
  std::int64_t product = 0, message = 0, pieces = 0;
  const MachineShape machine{.world = 2, .ps_per_byte = ps_per_byte};
  for (const schedule::Op& op : p.ops_of(p.block(p.calls.front()))) {
    if (op.kind == schedule::OpKind::gemm) product += static_cast<std::int64_t>(schedule::work_of(p, op, compiled.shapes[op.shape]).flops.value()) / flops_per_ps;
    if (schedule::is_collective(op.kind)) message += ps_per_byte * schedule::message_bytes(p, op).count();
    pieces += op.kind == schedule::OpKind::gemm || schedule::is_collective(op.kind) ? 1 : 0;
    if (pieces < 2 * chunks) continue;
    layer.products += product;
    layer.messages += message;
    layer.formula += std::max(product, message) + std::min(product, message) / chunks;
    product = message = pieces = 0;
  }
  EXPECT_EQ(pieces, 0);
  layer.time = simulate(compiled, small_cluster(), FlopCost(flops_per_ps), SmallNetwork(machine), {}).step_time.ps();
  return layer;
}

TEST(Chunks, AreAPipelineOfTwo) {
  for (const std::int64_t ps_per_byte : {1, 4, 16, 64})
    for (const std::int64_t chunks : {1, 2, 4}) {
      const Layer layer = one_forward(chunks, ps_per_byte);
      EXPECT_EQ(layer.time, layer.formula) << ps_per_byte << " " << chunks;
    }
}

TEST(Chunks, NeverBeatTheLargerOfTheTwo) {
  for (const std::int64_t ps_per_byte : {1, 4, 16, 64}) {
    const Layer apart = one_forward(1, ps_per_byte);
    EXPECT_EQ(apart.time, apart.products + apart.messages);
    for (const std::int64_t chunks : {2, 4}) {
      const Layer beside = one_forward(chunks, ps_per_byte);
      EXPECT_EQ(beside.products, apart.products);
      EXPECT_EQ(beside.messages, apart.messages);
      EXPECT_GE(beside.time, std::max(apart.products, apart.messages));
      EXPECT_LT(beside.time, apart.time);
    }
  }
}

// Where messages take longer than products, half the bandwidth takes nearly twice the time; where they take much less, it
// costs no more than their first chunk.
TEST(Chunks, FollowTheBandwidthWhereItBounds) {
  const Layer bound = one_forward(4, 64), slower = one_forward(4, 128);
  ASSERT_GT(bound.messages, bound.products);
  EXPECT_EQ(slower.time - bound.time, bound.messages);
  const Layer hidden = one_forward(4, 1, 1), hidden_slower = one_forward(4, 2, 1);
  ASSERT_GT(hidden.products, 4 * hidden.messages);
  EXPECT_EQ(hidden_slower.time - hidden.time, hidden.messages / 4);
}

// --- gathers of FSDP before and behind the kernels of a unit

std::int64_t sharded_step(const scenarios::Sharding& sharding, std::int64_t prefetch_backward, std::int64_t issue_ps,
                          std::int64_t ps_per_byte = 1) {
  scenarios::Scenario s = schedule::small_scenario(schedule::llama_style(6), {.dp = 2, .zero = 3, .microbatches = 1});
  s.sharding = sharding;
  s.overlap.prefetch_backward = prefetch_backward;
  s.training.clip_gradient_norm = 0.0;
  const MachineShape machine{.world = 2, .ps_per_byte = ps_per_byte};
  return simulate(schedule::compile(s), small_cluster(issue_ps), FlopCost(8), SmallNetwork(machine), {}).step_time.ps();
}

// "Explicit forward prefetching only saves the time taken to issue a layer's forward compute kernels" (FSDP notes of PyTorch):
// none where the host takes no time, or never waits for the device.
TEST(ForwardPrefetch, SavesTheHostsTime) {
  scenarios::Sharding before, behind;
  behind.prefetch_before_kernels = false;
  for (const std::int64_t ps_per_byte : {1, 4, 16}) {
    before.limit_on_host = behind.limit_on_host = false;
    for (const std::int64_t issue : {0, 500, 2000})
      EXPECT_EQ(sharded_step(before, 1, issue, ps_per_byte), sharded_step(behind, 1, issue, ps_per_byte));
    before.limit_on_host = behind.limit_on_host = true;
    EXPECT_EQ(sharded_step(before, 1, 0, ps_per_byte), sharded_step(behind, 1, 0, ps_per_byte));
    EXPECT_LT(sharded_step(before, 1, 8000, ps_per_byte), sharded_step(behind, 1, 8000, ps_per_byte));
  }
}

// BACKWARD_PRE overlaps the most, BACKWARD_POST the reduction, none nothing (torch.distributed.fsdp.BackwardPrefetch).
TEST(BackwardPrefetch, OverlapsMostThenLessThenNothing) {
  scenarios::Sharding pre, post, none;
  post.backward_prefetch = scenarios::BackwardPrefetch::post;
  none.backward_prefetch = scenarios::BackwardPrefetch::none;
  EXPECT_LT(sharded_step(pre, 1, 0), sharded_step(post, 0, 0));
  EXPECT_LT(sharded_step(post, 0, 0), sharded_step(none, 0, 0));
}

}  // namespace
}  // namespace orrery::sim::test
