// Experts over a grid of their own: etp x ep x edp = tp x cp x dp in every stage. (Megatron-LM, arguments.py and
// transformer/moe/README.md; Liu et al. 2025, "MoE Parallel Folding", section 3.)
#include <fmt/format.h>

#include <numeric>

#include "scenarios/divisors.h"
#include "scenarios/rank_order.h"
#include "scenarios/rules.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

bool has_experts(const Draft& d) { return d.scenario.model.experts.count > 0; }

void grid_needs_experts(Draft& d, Diagnostics& diagnostics) {
  if (has_experts(d)) return;
  const Parallel& p = d.scenario.parallel;
  if (p.ep > 1)
    diagnostics.error(d.at("parallel.ep"), fmt::format("ep={}, but the model has no experts", p.ep), "use ep 1, or leave it out");
  if (p.etp != p.tp)
    diagnostics.error(d.at("parallel.etp"), fmt::format("etp={} differs from tp={}: a model without experts has one grid", p.etp, p.tp),
                      "leave it out");
  if (d.written("experts"))
    diagnostics.error(d.at("experts"), "\"experts\" says how many tokens experts get, but the model has none", "leave it out");
}

void ep_divides_experts(Draft& d, Diagnostics& diagnostics) {
  const std::int64_t experts = d.scenario.model.experts.count, ep = d.scenario.parallel.ep;
  if (!has_experts(d) || experts % ep == 0) return;
  diagnostics.error(d.at("parallel.ep"), fmt::format("ep={} does not divide the {} experts of a layer", ep, experts),
                    fmt::format("use ep {}", alternatives(nearest(divisors(experts), ep))));
}

void etp_divides_width(Draft& d, Diagnostics& diagnostics) {
  const std::int64_t width = d.scenario.model.experts.ffn_hidden, etp = d.scenario.parallel.etp;
  if (!has_experts(d) || width % etp == 0) return;
  diagnostics.error(d.at("parallel.etp"), fmt::format("etp={} does not divide the {} columns of an expert", etp, width),
                    fmt::format("use etp {}", alternatives(nearest(divisors(width), etp))));
}

void tp_divides_shared(Draft& d, Diagnostics& diagnostics) {
  const std::int64_t width = d.scenario.model.experts.shared_ffn_hidden, tp = d.scenario.parallel.tp;
  if (width % tp == 0) return;
  diagnostics.error(d.at("parallel.tp"), fmt::format("tp={} does not divide the {} columns of the shared experts", tp, width),
                    fmt::format("use tp {}", alternatives(nearest(divisors(width), tp))));
}

// Else every tensor rank would send the same tokens.
void experts_need_sp(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (!has_experts(d) || p.tp == 1 || p.sequence_parallel) return;
  diagnostics.error(d.at("parallel.tp"), fmt::format("experts with tp={} need sequence parallelism: each rank routes tokens of its own", p.tp),
                    "set sp to true, or tp to 1");
}

void stage_is_adjacent(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (!has_experts(d) || adjacent(p, d.order, {"tp", "cp", "dp"})) return;
  diagnostics.error(d.at("parallel.order"), "the ranks of a stage do not follow each other, so experts cannot be spread over them",
                    "put pp last (or first): tp-cp-ep-dp-pp");
}

void counts_name_experts(Draft& d, Diagnostics& diagnostics) {
  const auto counts = static_cast<std::int64_t>(d.scenario.experts.counts.size());
  if (!has_experts(d) || counts == 0 || counts == d.scenario.model.experts.count) return;
  diagnostics.error(d.at("experts.counts"), fmt::format("{} counts for {} experts", counts, d.scenario.model.experts.count),
                    "one for each expert of a layer");
}

void known_parts(Draft& d, Diagnostics& diagnostics) {
  const models::Architecture& m = d.scenario.model;
  const auto refuse = [&](bool has, const char* what) {
    if (has) diagnostics.error(d.at("model"), fmt::format("{} cannot be trained yet: the model can be counted only", what), "another model");
  };
  refuse(has_experts(d) && m.mlp_bias, "a model of experts with biases");
  refuse(m.experts.router_bias, "a router with a trained bias");
  refuse(m.experts.shared_gate, "a gate of shared experts");
  refuse(m.attention_sinks, "attention with sinks");
  if (m.latent.kv_rank > 0 && d.scenario.parallel.cp > 1)
    diagnostics.error(d.at("parallel.cp"), "latent attention cannot be cut over cp yet", "use cp 1");
  if (m.latent.kv_rank > 0 && d.scenario.training.dropout > 0.0)
    diagnostics.error(d.at("training.dropout"), "latent attention has no dropout", "use 0");
}

void kept_on_the_device(Draft& d, Diagnostics& diagnostics) {
  if (!has_experts(d)) return;
  if (d.scenario.offload.optimizer != OffloadTarget::none)
    diagnostics.error(d.at("offload.optimizer"), "optimizer states of experts cannot be on the host yet", "use \"none\"");
  if (d.scenario.kernels.cuda_graphs)
    diagnostics.error(d.at("kernels.cuda_graphs"), "how many rows experts receive is known at run time, and a recorded graph has its sizes",
                      "set cuda_graphs to false");
  const Compression& c = d.scenario.compression;
  if (c.top_k > 0.0)
    diagnostics.error(d.at("compression.top_k"), "gradients of experts cannot be compressed yet", "use 0");
  if (c.weight_bits > 0 || c.gradient_bits > 0)
    diagnostics.error(d.at("compression"), "weights and gradients of experts cannot be quantised on their way yet", "leave it out");
}

// Products of experts and of latent attention have no 8- or 4-bit operands.
void in_16_bits(Draft& d, Diagnostics& diagnostics) {
  const hardware::Precision p = d.scenario.training.precision;
  const bool low = p == hardware::Precision::fp8 || p == hardware::Precision::fp4;
  if (!low || (!has_experts(d) && d.scenario.model.latent.kv_rank == 0)) return;
  diagnostics.error(d.at("training.precision"), "products of experts and of latent attention are in 16 or 32 bits, so far",
                    "use \"bf16\"");
}

// Experts have shards and copies of their own; what else spreads states knows one set.
void one_way_of_sharding(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if (!has_experts(d) || s.parallel.zero == 0) return;
  const Sharding& sharding = s.sharding;
  const auto refuse = [&](bool is, const char* path, const char* what, const char* instead) {
    if (is) diagnostics.error(d.at(path), fmt::format("a model of experts {} yet", what), instead);
  };
  refuse(sharding.shards(s.parallel.replicas()) < s.parallel.replicas(), "sharding", "cannot have copies of its shards", "shard over all ranks");
  refuse(sharding.secondary > 0 || sharding.reshard_to > 0, "sharding", "has no second shard for the backward", "leave it out");
  refuse(s.parallel.zero == 3 && !sharding.prefetch_before_kernels, "sharding.forward_prefetch", "gathers ahead before a layer's kernels",
         "set it to true");
  refuse(sharding.unit_layers > 1, "sharding.unit_layers", "gathers one layer at a time", "use 1");
  refuse(s.parallel.zero == 3 && s.recipe.gathered_bytes != 0 && s.recipe.gathered_bytes != s.recipe.weight_bytes, "recipe.fp32_shards",
         "cannot gather weights in another type than it keeps them", "set fp32_shards to false");
}

void predictions_are_counted(Draft& d, Diagnostics& diagnostics) {
  const std::int64_t modules = d.scenario.model.prediction_layers;
  if (modules == 0) return;
  diagnostics.warning(d.at("model"), fmt::format("the model's {} for multi-token prediction is counted, not trained",
                                                 modules == 1 ? "module" : fmt::format("{} modules", modules)),
                      "set model.prediction_layers to 0 if that is what is meant");
}

}  // namespace

const std::vector<Rule>& expert_rules() {
  static const std::vector<Rule> rules = {
      {"expert grid", "ep, etp and \"experts\" need a model with experts", kModelKnown | kParallelKnown, 0, grid_needs_experts},
      {"ep", "ep divides the experts of a layer", kModelKnown | kParallelKnown, 0, ep_divides_experts},
      {"etp", "etp divides an expert's width", kModelKnown | kParallelKnown, 0, etp_divides_width},
      {"shared experts", "tp divides the shared experts' width", kModelKnown | kParallelKnown, 0, tp_divides_shared},
      {"experts and tp", "experts with tp need sp", kModelKnown | kParallelKnown, 0, experts_need_sp},
      {"expert order", "the ranks of a stage are adjacent", kModelKnown | kWorldKnown, 0, stage_is_adjacent},
      {"expert counts", "there is a count for each expert", kModelKnown, 0, counts_name_experts},
      {"parts", "parts of models that can be counted but not trained", kModelKnown, 0, known_parts},
      {"experts at home", "experts exclude offload, compression and CUDA graphs", kModelKnown | kPolicyKnown, 0, kept_on_the_device},
      {"experts in 16 bits", "low-precision products exclude experts and latent attention", kModelKnown | kTrainingKnown, 0,
       in_16_bits},
      {"shards of experts", "experts exclude HSDP, secondary shards, units of several layers and gathers in another type",
       kModelKnown | kWorldKnown | kPolicyKnown, 0, one_way_of_sharding},
      {"prediction", "multi-token prediction modules are counted only", kModelKnown, 0, predictions_are_counted},
  };
  return rules;
}

}  // namespace orrery::scenarios
