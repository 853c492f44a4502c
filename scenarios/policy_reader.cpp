// The parts of a scenario whose defaults come from the framework's policy (scenarios/policy.h), read over
// them.
#include <algorithm>

#include <fmt/format.h>

#include "scenarios/reader.h"
#include "scenarios/section.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kBucketMax = 1'000'000'000'000;

PlanFacts facts_of(const Draft& d) {
  const Scenario& s = d.scenario;
  PlanFacts plan{s.parallel.zero, s.parallel.dp, s.parallel.schedule, 0};
  if (d.knows(kModelKnown))
    plan.layer_elements = models::count(models::layer_parameters(s.model)) / s.parallel.tp;
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

void read_recipe(Draft& d, ObjectReader& r) {
  const Training& t = d.scenario.training;
  const Policy& policy = policy_of(d.scenario.framework);
  const Recipe usual = recipe_of(policy, t.precision, t.optimizer);
  const bool half = is_half(t.precision);
  const bool adam = t.optimizer == Optimizer::adam;
  Recipe& recipe = d.scenario.recipe = usual;
  recipe.gradient_bytes = one_of(r, "gradient_bytes", usual.gradient_bytes,
                                 half ? std::vector<std::int64_t>{2, 4} : std::vector<std::int64_t>{4});
  recipe.master_weights = r.boolean("master_weights", usual.master_weights);
  recipe.optimizer_state_bytes =
      one_of(r, "optimizer_state_bytes", usual.optimizer_state_bytes,
             adam && half ? std::vector<std::int64_t>{4, 8}
                          : std::vector<std::int64_t>{usual.optimizer_state_bytes});
  if (recipe.master_weights && !half)
    r.diagnostics().error(
        r.place("master_weights"),
        fmt::format("with {} the weights are fp32 themselves: there is no master copy", word(t.precision)),
        "leave it out, or train in fp16 or bf16");
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

void read_overlap(Draft& d, ObjectReader& r) {
  const Policy& policy = policy_of(d.scenario.framework);
  const PlanFacts plan = facts_of(d);
  Overlap& o = d.scenario.overlap;
  o.gradient_reduce = r.boolean("gradient_reduce", happens(policy.gradient_reduce, plan));
  o.parameter_gather = r.boolean("parameter_gather", happens(policy.parameter_gather, plan));
  o.pipeline = r.boolean("pipeline", happens(policy.pipeline, plan));
  o.tensor_backward = r.boolean("tensor_backward", happens(policy.tensor_backward, plan));
  o.prefetch_units =
      r.integer("prefetch_units", {.fallback = prefetch_units(policy, plan), .min = 0, .max = 1'000'000});
  o.bucket_buffers = r.integer(
      "bucket_buffers", {.fallback = bucket_buffers(policy, plan, o.gradient_reduce), .min = 0, .max = 16});
  read_bucket(d, r, plan);
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
}

void read_offload(Draft& d, ObjectReader& r) {
  d.scenario.offload.optimizer = r.choice<OffloadTarget>("optimizer", OffloadTarget::none, offload_words());
  d.scenario.offload.pinned = r.boolean("pinned", true);
}

void read_compression(Draft& d, ObjectReader& r) {
  d.scenario.compression.top_k = r.number("top_k", {.fallback = 0.0, .min = 0.0, .max = 1.0});
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
  part("overlap", read_overlap);
  part("kernels", read_kernels);
  part("offload", read_offload);
  part("compression", read_compression);
  part("network", read_network);
  if (good) d.known |= kPolicyKnown;
}

}  // namespace orrery::scenarios
