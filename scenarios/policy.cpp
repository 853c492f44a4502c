// The rows of the policy table, one function each, and the few rules that turn them into numbers for a plan.
// Sources: docs/reference/frameworks.md, value by value.
#include "scenarios/policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

Kernels all_fused() { return {}; }

// Eager PyTorch modules: attention through scaled_dot_product_attention, everything else one kernel an
// operation.
Kernels eager() {
  Kernels kernels;
  kernels.fused_softmax = false;
  kernels.fused_elementwise = false;
  return kernels;
}

Policy orrery_policy() {
  Policy p;
  p.framework = Framework::orrery;
  p.help = "Orrery's own runtime: mixed precision with fp32 gradients, everything overlaps that can";
  p.gradient_reduce = When::always;
  p.parameter_gather = When::always;
  p.pipeline = When::always;
  p.tensor_backward = When::always;
  p.bucket = {.elements = 40'000'000};
  p.kernels = all_fused();
  return p;
}

Policy megatron_policy() {
  Policy p;
  p.framework = Framework::megatron;
  p.help =
      "Megatron-LM defaults: fp32 gradients, reduction after the backward, interleaved send/receive overlaps";
  p.gradient_reduce = When::never;
  p.parameter_gather = When::never;
  p.pipeline = When::interleaved;
  p.tensor_backward = When::always;
  p.bucket = {.elements = 40'000'000, .elements_per_dp = 1'000'000, .only_overlapped = true};
  p.kernels = all_fused();
  return p;
}

Policy deepspeed_policy() {
  Policy p;
  p.framework = Framework::deepspeed;
  p.help = "DeepSpeed defaults: 16-bit gradients, buckets of 5e8 elements, overlap with ZeRO-3 only";
  p.gradient_bytes = 2;
  p.gradient_reduce = When::zero_3;
  p.bucket = {.elements = 500'000'000};
  p.stages_buckets = true;
  p.prefetch_elements = 50'000'000;
  p.max_live_elements = p.max_reuse_elements = 1'000'000'000;
  p.context_method = ContextMethod::ulysses;
  p.kernels = eager();
  p.vocab_divisible_by = 1;
  return p;
}

Policy ddp_policy() {
  Policy p;
  p.framework = Framework::ddp;
  p.help = "PyTorch DistributedDataParallel with autocast: fp32 gradients, buckets of 25 MiB, overlapped";
  p.gradient_reduce = When::always;
  p.bucket = {.bytes = std::int64_t{25} << 20};
  p.kernels = eager();
  p.vocab_divisible_by = 1;
  return p;
}

// torchtitan's way: fully_shard on each block, fp32 parameters gathered in bf16, reduced in fp32. In a pipeline the
// weights stay gathered for the step, and only the last microbatch's backward reduces.
Policy fsdp_policy() {
  Policy p;
  p.framework = Framework::fsdp;
  p.help = "PyTorch FSDP2 as torchtitan sets it up: fp32 shards, gathered in 16 bits, a unit a layer";
  p.gradient_reduce = When::always;
  p.bucket = {};
  p.reshard_after_forward = When::no_pipeline;
  p.reshard_after_backward = When::no_pipeline;
  p.reduce_every_microbatch = When::no_pipeline;
  p.root_reshards = false;
  p.fp32_shards = true;
  p.tensor_backward = When::never;
  p.kernels = eager();
  p.vocab_divisible_by = 1;
  return p;
}

// FullyShardedDataParallel with MixedPrecision(param_dtype) and a wrapping policy of layers. The host waits before it gathers
// a third unit, and asks for the next one behind the kernels of the present; the pipelining of PyTorch does not know it.
Policy fsdp1_policy() {
  Policy p = fsdp_policy();
  p.framework = Framework::fsdp1;
  p.help = "PyTorch FSDP1 (FullyShardedDataParallel): flat parameters, fp32 shards, gathered and reduced in 16 bits";
  p.reshard_after_forward = p.reshard_after_backward = p.reduce_every_microbatch = When::always;
  p.reduce_bytes = 2;
  p.limit_all_gathers = true;
  p.forward_prefetch = false;
  return p;
}

int state_bytes(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adam:
      return 8;
    case Optimizer::sgd:
      return 0;
    case Optimizer::sgd_momentum:
      return 4;
  }
  return 0;
}

}  // namespace

const std::vector<Policy>& policies() {
  static const std::vector<Policy> table = {orrery_policy(), megatron_policy(), deepspeed_policy(),
                                            ddp_policy(), fsdp_policy(), fsdp1_policy()};
  return table;
}

const Policy& policy_of(Framework framework) {
  for (const Policy& policy : policies())
    if (policy.framework == framework) return policy;
  CHECK(false, static_cast<int>(framework));
  return policies().front();
}

bool happens(When when, const PlanFacts& plan) {
  switch (when) {
    case When::never:
      return false;
    case When::always:
      return true;
    case When::zero_3:
      return plan.zero == 3;
    case When::interleaved:
      return plan.schedule == PipelineSchedule::interleaved;
    case When::no_pipeline:
      return plan.pp == 1;
  }
  return false;
}

std::int64_t bucket_elements(const BucketRule& rule, const PlanFacts& plan, int gradient_bytes,
                             bool overlapped) {
  if (rule.only_overlapped && !overlapped) return 0;
  if (rule.bytes > 0) return rule.bytes / gradient_bytes;
  return std::max(rule.elements, rule.elements_per_dp * plan.dp);
}

std::int64_t bucket_buffers(const Policy& policy, const PlanFacts& plan, bool overlapped) {
  if (!policy.stages_buckets || plan.zero == 0 || plan.dp == 1) return 0;
  return overlapped ? 2 : 1;
}

std::int64_t prefetch_units(const Policy& policy, const PlanFacts& plan) {
  if (plan.layer_elements <= 0) return 1;
  return std::max<std::int64_t>(1, policy.prefetch_elements / plan.layer_elements);
}

std::int64_t live_layers(const LiveLimits& limits, const PlanFacts& plan) {
  if (plan.layer_elements <= 0 || limits.live < plan.layer_elements + plan.head_elements) return 0;
  if (limits.reuse < 2 * plan.head_elements) return 0;
  const std::int64_t by_reuse = (limits.reuse - 2 * plan.head_elements) / (2 * plan.layer_elements) + 1;
  const std::int64_t by_live = (limits.live - plan.head_elements) / plan.layer_elements;
  return std::min({by_reuse, by_live, plan.layers});
}

Recipe recipe_of(const Policy& policy, hardware::Precision precision, Optimizer optimizer, bool sharded_weights) {
  Recipe recipe;
  const bool half = is_half(precision);
  recipe.weight_bytes = half ? 2 : 4;
  recipe.gradient_bytes = half ? policy.gradient_bytes : 4;
  recipe.master_weights = half;
  recipe.optimizer_state_bytes = state_bytes(optimizer);
  if (half && policy.fp32_shards && sharded_weights) {
    recipe.weight_bytes = 4;
    recipe.reduce_bytes = policy.reduce_bytes;
    recipe.gathered_bytes = 2;
    recipe.master_weights = false;
  }
  recipe.name = fmt::format("{} {}: {}", word(policy.framework), word(precision), describe(recipe));
  return recipe;
}

std::string describe(const Recipe& r) {
  const int master = r.master_weights ? 4 : 0;
  const std::string kept =
      fmt::format("{} + {} + {} + {} = {} B/parameter", r.weight_bytes, r.gradient_bytes, master,
                  r.optimizer_state_bytes,
                  r.weight_bytes + r.gradient_bytes + master + r.optimizer_state_bytes);
  if (r.gathered_bytes == 0) return kept;
  return kept + fmt::format(", gathered in {}, reduced in {}", r.gathered_bytes, r.reduce_bytes);
}

}  // namespace orrery::scenarios
