// The parts of a scenario whose defaults come from the framework's policy (scenarios/policy.h), read over
// them.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "scenarios/reader.h"
#include "scenarios/section.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kBucketMax = 1'000'000'000'000;
constexpr std::int64_t kRanksMax = 1'000'000;

PlanFacts facts_of(const Draft& d) {
  const Scenario& s = d.scenario;
  PlanFacts plan{s.parallel.zero, s.parallel.replicas(), s.parallel.schedule, s.parallel.pp, 0};
  if (d.knows(kModelKnown))
    plan.layer_elements = models::largest_layer_unit(s.model, s.model.experts.count / s.parallel.ep) / s.parallel.tp;
  if (d.knows(kModelKnown)) plan.head_elements = s.model.vocab * s.model.hidden / s.parallel.tp;
  plan.layers = s.model.layers / std::max<std::int64_t>(1, s.parallel.pp);
  return plan;
}

int one_of(ObjectReader& r, const char* key, int fallback, const std::vector<std::int64_t>& allowed) {
  const std::int64_t value = r.integer(key, {.fallback = fallback, .min = 0, .max = 64});
  if (value == fallback || std::find(allowed.begin(), allowed.end(), value) != allowed.end())
    return static_cast<int>(value);
  r.diagnostics().error(r.place(key), fmt::format("{}={} is not supported here", key, value),
                        fmt::format("use {}", alternatives(allowed)));
  return fallback;
}

// FSDP's MixedPrecisionPolicy: param_dtype and reduce_dtype over fp32 parameters.
void read_mixed_precision(Draft& d, ObjectReader& r, bool applies) {
  Recipe& recipe = d.scenario.recipe;
  const bool shards_before = recipe.gathered_bytes != 0;
  const bool fp32_shards = r.boolean("fp32_shards", shards_before);
  if (fp32_shards && !applies)
    r.diagnostics().error(r.place("fp32_shards"),
                          "fp32 shards that are gathered in 16 bits need sharded weights (zero 3, dp > 1) and fp16 or bf16",
                          "leave it out, or use zero 3");
  if (fp32_shards != shards_before) {
    recipe.weight_bytes = fp32_shards ? 4 : 2;
    recipe.gathered_bytes = fp32_shards ? 2 : 0;
    recipe.reduce_bytes = fp32_shards ? 4 : 0;
    recipe.master_weights = !fp32_shards;
  }
  const int reduce = one_of(r, "reduce_bytes", recipe.reduce_bytes == 0 ? recipe.gradient_bytes : recipe.reduce_bytes, {2, 4});
  if (fp32_shards)
    recipe.reduce_bytes = reduce;
  else if (r.has("reduce_bytes") && reduce != recipe.gradient_bytes)
    r.diagnostics().error(r.place("reduce_bytes"), "without fp32_shards gradients are reduced as they are kept",
                          "set recipe.gradient_bytes, or fp32_shards to true");
}

void read_recipe(Draft& d, ObjectReader& r) {
  const Training& t = d.scenario.training;
  const Policy& policy = policy_of(d.scenario.framework);
  const bool sharded_weights = d.scenario.parallel.zero == 3 && d.scenario.parallel.replicas() > 1;
  const Recipe usual = recipe_of(policy, t.precision, t.optimizer, sharded_weights);
  const bool half = is_half(t.precision);
  const bool adam = t.optimizer == Optimizer::adam;
  Recipe& recipe = d.scenario.recipe = usual;
  recipe.gradient_bytes = one_of(r, "gradient_bytes", usual.gradient_bytes,
                                 half ? std::vector<std::int64_t>{2, 4} : std::vector<std::int64_t>{4});
  recipe.optimizer_state_bytes =
      one_of(r, "optimizer_state_bytes", usual.optimizer_state_bytes,
             adam && half ? std::vector<std::int64_t>{4, 8}
                          : std::vector<std::int64_t>{usual.optimizer_state_bytes});
  read_mixed_precision(d, r, sharded_weights && half);
  recipe.master_weights = r.boolean("master_weights", recipe.master_weights);
  if (recipe.master_weights && !half)
    r.diagnostics().error(
        r.place("master_weights"),
        fmt::format("with {} the weights are fp32 themselves: there is no master copy", word(t.precision)),
        "leave it out, or train in fp16 or bf16");
  if (is_low(t.precision)) {
    const Scaling usual_scaling = t.precision == hardware::Precision::fp4 ? Scaling::nvfp4 : Scaling::delayed;
    recipe.scaling = r.choice<Scaling>("scaling", usual_scaling, scaling_words());
    recipe.name += ", " + word(recipe.scaling) + " scaling";
  } else if (r.has("scaling")) {
    r.diagnostics().error(r.place("scaling"), fmt::format("{} products are not scaled", word(t.precision)),
                          "leave it out, or train in fp8 or fp4");
  }
  if (describe(recipe) != describe(usual))
    recipe.name =
        fmt::format("{} {}, changed here: {}", word(policy.framework), word(t.precision), describe(recipe));
}

void read_bucket(Draft& d, ObjectReader& r, const PlanFacts& plan) {
  Overlap& o = d.scenario.overlap;
  const int gradient_bytes = d.scenario.recipe.gradient_bytes;
  const BucketRule& rule = policy_of(d.scenario.framework).bucket;
  o.bucket_elements = r.integer("bucket_elements",
                                {.fallback = bucket_elements(rule, plan, gradient_bytes, o.gradient_reduce),
                                 .min = 0,
                                 .max = kBucketMax});
  if (!r.has("bucket_size")) return;
  const Bytes size = r.bytes("bucket_size", Bytes(gradient_bytes));
  if (r.has("bucket_elements"))
    r.diagnostics().error(r.place("bucket_size"), "bucket_size and bucket_elements say the same thing twice",
                          "leave one of them out");
  if (size.count() < gradient_bytes)
    r.diagnostics().error(r.place("bucket_size"), "a bucket holds at least one gradient",
                          "for one bucket of everything, use \"bucket_elements\": 0");
  o.bucket_elements = std::max<std::int64_t>(1, size.count() / gradient_bytes);
}

// true: all microbatches; false: none; or the first so many.
void read_deferral(Draft& d, ObjectReader& r) {
  const Json* value = r.child("defer_embedding_gradients");
  const bool number = value != nullptr && value->kind == Json::Kind::integer;
  if (number)
    d.scenario.overlap.deferred_microbatches = r.integer("defer_embedding_gradients", {.fallback = 0, .min = 0, .max = kRanksMax});
  else if (r.boolean("defer_embedding_gradients", false))
    d.scenario.overlap.deferred_microbatches = kRanksMax;
}

void read_prefetch(Draft& d, ObjectReader& r, const PlanFacts& plan) {
  Overlap& o = d.scenario.overlap;
  const Sharding& s = d.scenario.sharding;
  // Without its limit FSDP1's host gathers as far ahead as it is ahead of the device: all of it, at most.
  const bool unlimited = d.scenario.framework == Framework::fsdp1 && !s.limit_on_host;
  const std::int64_t usual = unlimited ? kRanksMax : prefetch_units(policy_of(d.scenario.framework), plan);
  o.prefetch_units = r.integer("prefetch_units", {.fallback = usual, .min = 0, .max = kRanksMax});
  const bool none = s.backward_prefetch != BackwardPrefetch::pre;
  o.prefetch_backward = r.integer("prefetch_backward", {.fallback = none ? 0 : o.prefetch_units, .min = 0, .max = kRanksMax});
}

void read_overlap(Draft& d, ObjectReader& r) {
  const Policy& policy = policy_of(d.scenario.framework);
  const PlanFacts plan = facts_of(d);
  Overlap& o = d.scenario.overlap;
  o.gradient_reduce = r.boolean("gradient_reduce", happens(policy.gradient_reduce, plan));
  o.parameter_gather = r.boolean("parameter_gather", happens(policy.parameter_gather, plan));
  o.pipeline = r.boolean("pipeline", happens(policy.pipeline, plan));
  o.tensor_backward = r.boolean("tensor_backward", happens(policy.tensor_backward, plan));
  o.expert_exchange = r.boolean("expert_exchange", false);
  o.tensor_chunks = r.integer("tensor_chunks", {.fallback = 1, .min = 1, .max = 64});
  read_deferral(d, r);
  read_prefetch(d, r, plan);
  o.bucket_buffers = r.integer(
      "bucket_buffers", {.fallback = bucket_buffers(policy, plan, o.gradient_reduce), .min = 0, .max = 16});
  read_bucket(d, r, plan);
}

// true, false, or so many neighbours that keep a part each.
void read_reshard(Draft& d, ObjectReader& r, bool usual) {
  Sharding& s = d.scenario.sharding;
  const Json* value = r.child("reshard_after_forward");
  if (value == nullptr || value->kind != Json::Kind::integer) {
    s.reshard_after_forward = r.boolean("reshard_after_forward", usual);
    return;
  }
  s.reshard_to = r.integer("reshard_after_forward", {.fallback = 1, .min = 1, .max = kRanksMax});
}

// The neighbours among the ranks that shard which one node holds.
std::int64_t ranks_of_a_node(const Draft& d) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t shards = d.scenario.sharding.shards(p.replicas());
  const std::int64_t stride = p.cp > 1 ? std::min(p.cp_stride, p.dp_stride) : p.dp_stride;
  return std::gcd(std::max<std::int64_t>(1, d.scenario.cluster.node.gpus / stride), std::max<std::int64_t>(1, shards));
}

// FSDP1's sharding strategies are names of two settings; `zero` comes from them, too (scenarios/reader.cpp).
struct Strategy {
  bool within_node = false, keeps_weights = false;
};

void read_group(Draft& d, ObjectReader& r, const Strategy& strategy) {
  Sharding& s = d.scenario.sharding;
  const Json* group = r.child("group");
  const bool all = group != nullptr && group->is_string() && group->string == "all";
  const std::int64_t node = strategy.within_node ? ranks_of_a_node(d) : 0;
  if (!all) s.group = r.integer("group", {.fallback = node, .min = 1, .max = kRanksMax});
  if (s.group == d.scenario.parallel.replicas()) s.group = 0;
}

void read_sharding(Draft& d, ObjectReader& r) {
  const Policy& policy = policy_of(d.scenario.framework);
  const PlanFacts plan = facts_of(d);
  Sharding& s = d.scenario.sharding;
  const Strategy strategy = r.choice<Strategy>("strategy", Strategy{},
                                               {{"full_shard", {}},
                                                {"shard_grad_op", {.keeps_weights = true}},
                                                {"hybrid_shard", {.within_node = true}},
                                                {"hybrid_shard_zero2", {.within_node = true, .keeps_weights = true}},
                                                {"no_shard", {}}});
  read_group(d, r, strategy);
  read_reshard(d, r, !strategy.keeps_weights && happens(policy.reshard_after_forward, plan));
  s.root_reshards = r.boolean("root_reshards", policy.root_reshards);
  s.secondary = r.integer("secondary_group", {.fallback = 0, .min = 0, .max = kRanksMax});
  s.unit_layers = r.integer("unit_layers", {.fallback = 1, .min = 1, .max = kRanksMax});
  s.reduce_every_microbatch =
      r.choice<bool>("reduce", happens(policy.reduce_every_microbatch, plan), {{"microbatch", true}, {"step", false}});
  // FSDP1's SHARD_GRAD_OP: "inside no_sync(), the parameters are not resharded after the backward".
  const bool stay = strategy.keeps_weights && !s.reduce_every_microbatch;
  s.reshard_after_backward = r.boolean("reshard_after_backward", !stay && happens(policy.reshard_after_backward, plan));
  s.replicas_every_microbatch = r.choice<bool>("reduce_replicas", d.scenario.framework != Framework::deepspeed,
                                               {{"microbatch", true}, {"step", false}});
  s.limit_on_host = r.boolean("limit_all_gathers", policy.limit_all_gathers && plan.zero == 3);
  s.prefetch_before_kernels = r.boolean("forward_prefetch", policy.forward_prefetch);
  s.backward_prefetch = r.choice<BackwardPrefetch>(
      "backward_prefetch", BackwardPrefetch::pre,
      {{"pre", BackwardPrefetch::pre}, {"post", BackwardPrefetch::post}, {"none", BackwardPrefetch::none}});
  LiveLimits limits{policy.max_live_elements, policy.max_reuse_elements};
  limits.live = r.integer("max_live_elements", {.fallback = limits.live, .min = 0, .max = kBucketMax});
  limits.reuse = r.integer("max_reuse_elements", {.fallback = limits.reuse, .min = 0, .max = kBucketMax});
  const bool one_at_a_time = plan.pp == 1 && plan.schedule != PipelineSchedule::gpipe;
  if (plan.zero == 3 && one_at_a_time && s.reshard_after_forward && s.reshard_to == 0)
    s.live_layers = live_layers(limits, plan);
  // What is used again the soonest is the head.
  if (s.live_layers >= plan.layers && s.live_layers > 0) s.root_reshards = false;
}

void read_kernels(Draft& d, ObjectReader& r) {
  Kernels& k = d.scenario.kernels = policy_of(d.scenario.framework).kernels;
  // FlashAttention (Dao et al. 2022, and 2 of 2023) has no kernels for GPUs before Ampere.
  const hardware::Gpu& gpu = d.scenario.cluster.gpu;
  const bool flash = gpu.compute_capability >= 80;
  k.fused_attention = r.boolean("fused_attention", k.fused_attention && flash);
  if (k.fused_attention && !flash && gpu.compute_capability > 0)
    r.diagnostics().warning(r.place("fused_attention"),
                            fmt::format("there is no FlashAttention for {}: another fused kernel is assumed, at the "
                                        "speed fitted for newer GPUs",
                                        gpu.name),
                            "false is what runs there usually");
  k.fused_softmax = r.boolean("fused_softmax", k.fused_softmax);
  k.softmax_fp32_copy = r.boolean("softmax_fp32_copy", k.softmax_fp32_copy);
  k.fused_elementwise = r.boolean("fused_elementwise", k.fused_elementwise);
  k.fp32_logits = r.boolean("fp32_logits", k.fp32_logits);
  if (r.has("stack")) d.scenario.stack = hardware::read_software_stack(r.required("stack"), gpu, r.diagnostics());
  k.cuda_graphs = r.boolean("cuda_graphs", false);
  if (k.cuda_graphs) d.scenario.cluster.host_issue_cost = Duration{};
}

void read_offload(Draft& d, ObjectReader& r) {
  d.scenario.offload.optimizer = r.choice<OffloadTarget>("optimizer", OffloadTarget::none, offload_words());
  d.scenario.offload.pinned = r.boolean("pinned", true);
}

void read_compression(Draft& d, ObjectReader& r) {
  Compression& c = d.scenario.compression;
  c.top_k = r.number("top_k", {.fallback = 0.0, .min = 0.0, .max = 1.0});
  c.weight_bits = r.choice<int>("weights", 0, {{"none", 0}, {"int8", 8}});
  c.gradient_bits = r.choice<int>("gradients", 0, {{"none", 0}, {"int8", 8}, {"int4", 4}});
  c.block = r.integer("block", {.fallback = 2048, .min = 2, .max = kBucketMax});
  c.node_ranks = r.integer("node_ranks", {.fallback = ranks_of_a_node(d), .min = 1, .max = kRanksMax});
}

void read_network(Draft& d, ObjectReader& r) {
  d.scenario.network.algorithm = r.choice<Algorithm>("algorithm", Algorithm::automatic, algorithm_words());
  d.scenario.network.protocol = r.choice<Protocol>("protocol", Protocol::automatic, protocol_words());
}

}  // namespace

void read_policy_parts(Draft& d, Diagnostics& diagnostics) {
  bool good = true;
  const auto part = [&](const char* key, void (*read)(Draft&, ObjectReader&)) {
    good = read_section(d.json, key, diagnostics, [&](ObjectReader& r) { read(d, r); }) && good;
  };
  part("recipe", read_recipe);
  part("sharding", read_sharding);
  part("overlap", read_overlap);
  part("kernels", read_kernels);
  part("offload", read_offload);
  part("compression", read_compression);
  part("network", read_network);
  if (good) d.known |= kPolicyKnown;
}

}  // namespace orrery::scenarios
