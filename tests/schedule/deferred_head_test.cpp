// The output layer's weight gradients put off: the same products, in the same order, behind the last backward, and in
// exactly the memory that they need.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "schedule/compile.h"
#include "schedule/kernel_work.h"
#include "schedule/memory.h"
#include "schedule/verify.h"
#include "tests/schedule/small_scenarios.h"

namespace orrery::schedule {
namespace {

constexpr std::int64_t kStages = 4, kMicrobatches = 8;

scenarios::Scenario scenario_of(const Plan& plan, std::int64_t deferred, bool tied = false) {
  models::Architecture model = llama_style(plan.pp * plan.vpp);
  model.tied_embeddings = tied;
  scenarios::Scenario s = small_scenario(model, plan);
  s.overlap.pipeline = true;
  s.overlap.deferred_microbatches = deferred;
  return s;
}

Plan four_stages() { return {.pp = kStages, .microbatches = kMicrobatches}; }

const Program& last_stage(const Schedule& s) { return s.programs.back(); }

struct Work {
  double flops = 0.0;
  std::int64_t bytes = 0, products = 0;
  bool operator==(const Work&) const = default;
};

Work work_of_last_stage(const Schedule& s) {
  Work w;
  const Program& p = last_stage(s);
  for_each_call(p, std::numeric_limits<std::uint32_t>::max(), [&](const Call& call, auto, auto) {
    for (const Op& op : p.ops_of(p.block(call))) {
      if (is_collective(op.kind)) w.bytes += message_bytes(p, op).count();
      if (op.kind != OpKind::gemm) continue;
      ++w.products;
      w.flops += work_of(p, op, s.shapes[op.shape]).flops.value();
    }
  });
  return w;
}

TEST(DeferredHead, IsSoundAndTheSameWork) {
  for (const std::int64_t vpp : {1, 2})
    for (const std::int64_t tp : {1, 2})
      for (const bool tied : {false, true})
        for (const std::int64_t deferred : {1L, 3L, kMicrobatches, 100L}) {
          Plan plan = four_stages();
          plan.vpp = vpp;
          plan.tp = tp;
          plan.dp = 2;
          plan.zero = 1;
          plan.sequence_parallel = tp > 1;
          const Schedule s = compile(scenario_of(plan, deferred, tied)), plain = compile(scenario_of(plan, 0, tied));
          const auto findings = verify(s);
          EXPECT_TRUE(findings.empty()) << findings.front().message;
          EXPECT_EQ(work_of_last_stage(s), work_of_last_stage(plain)) << vpp << tp << tied << deferred;
          for (std::size_t stage = 0; stage + 1 < s.programs.size(); ++stage) EXPECT_TRUE(s.programs[stage] == plain.programs[stage]);
        }
}

// Names of the last stage's blocks in the order of issue, those of the head's backward only.
std::vector<std::string> head_order(std::int64_t deferred) {
  const Schedule s = compile(scenario_of(four_stages(), deferred));
  std::vector<std::string> names;
  for_each_call(last_stage(s), std::numeric_limits<std::uint32_t>::max(), [&](const Call& call, std::uint32_t m, auto) {
    const std::string& name = last_stage(s).block(call).name;
    if (name.starts_with("head.backward") || name == "head.weight_gradients") names.push_back(name + " " + std::to_string(m));
  });
  return names;
}

TEST(DeferredHead, ComesBehindTheLastBackwardInOrder) {
  const std::vector<std::string> names = head_order(3);
  ASSERT_EQ(names.size(), static_cast<std::size_t>(kMicrobatches + 3));
  for (std::int64_t m = 0; m < kMicrobatches; ++m)
    EXPECT_EQ(names[static_cast<std::size_t>(m)],
              (m < 3 ? "head.backward.deferring " : "head.backward ") + std::to_string(m));
  for (std::int64_t m = 0; m < 3; ++m)
    EXPECT_EQ(names[static_cast<std::size_t>(kMicrobatches + m)], "head.weight_gradients " + std::to_string(m));
}

std::int64_t peak(std::int64_t deferred, bool sequence_parallel, bool fp32_logits = true) {
  Plan plan = four_stages();
  plan.tp = 2;
  plan.sequence_parallel = sequence_parallel;
  scenarios::Scenario s = scenario_of(plan, deferred);
  s.training.micro_batch = 32;  // tensors are multiples of the allocator's grain
  s.training.global_batch = 32 * kMicrobatches;
  s.kernels.fp32_logits = fp32_logits;
  const MemoryPeak found = memory_peak(last_stage(compile(s)));
  return found.by_kind[static_cast<std::size_t>(BufferKind::activation)].count();
}

// What a microbatch leaves: 16 bits of s b v / t logit gradients and of the layer's input, s b h, or s b h / t with
// sequence parallelism. With T = s b = 256, v = 32, h = 16, t = 2.
TEST(DeferredHead, KeepsTheGradientOfLogitsAndTheInputOfEachMicrobatch) {
  const std::int64_t tokens = 256, logits = 2 * tokens * 32 / 2, input = 2 * tokens * 16;
  for (std::int64_t k = 2; k + 2 < kMicrobatches; ++k) {
    EXPECT_EQ(peak(k + 1, false) - peak(k, false), logits + input) << k;
    EXPECT_EQ(peak(k + 1, true) - peak(k, true), logits + input / 2) << k;
    EXPECT_EQ(peak(k + 1, false, false) - peak(k, false, false), logits + input) << k;  // 16-bit logits are their gradient
  }
}

}  // namespace
}  // namespace orrery::schedule
