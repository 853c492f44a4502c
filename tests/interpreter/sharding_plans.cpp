// Plans in which states are spread over a part of the data-parallel ranks, and gathered weights stay for
// longer or shorter: FSDP's and DeepSpeed's ways, alone and with tensor and pipeline parallelism.
#include "tests/interpreter/named_plans.h"

namespace orrery::interpreter {

using scenarios::Scenario;

namespace {

void zero3(Scenario& s, std::int64_t dp) {
  s.parallel.dp = dp;
  s.parallel.zero = 3;
  s.training.micro_batch = 1;
  s.overlap.gradient_reduce = true;
}
void four_layers(Scenario& s) { s.model.layers = 4; }
void clipped(Scenario& s) { s.training.clip_gradient_norm = 0.1; }
void full(Scenario& s) { s.training.recompute = scenarios::Recompute::full; }
// torchtitan's mixed precision: fp32 shards, gathered in 16 bits, reduced in 32.
void mixed(Scenario& s) {
  s.recipe.weight_bytes = s.recipe.gradient_bytes = s.recipe.reduce_bytes = 4;
  s.recipe.gathered_bytes = 2;
  s.recipe.master_weights = false;
}
void hybrid(Scenario& s, std::int64_t group) {
  s.sharding.group = group;
  clipped(s);
}

const std::vector<NamedPlan>& fsdp_plans() {
  static const std::vector<NamedPlan> kPlans = {
      {"FSDP, kept after the forward",
       [](Scenario& s) {
         zero3(s, 2);
         s.sharding.reshard_after_forward = false;
       }},
      {"FSDP, root kept",
       [](Scenario& s) {
         zero3(s, 2);
         s.sharding.root_reshards = false;
         clipped(s);
       }},
      {"FSDP, gathered once a step",
       [](Scenario& s) {
         zero3(s, 2);
         s.sharding.reshard_after_forward = s.sharding.reshard_after_backward = false;
       }},
      {"FSDP, gathered once a step, reduced once",
       [](Scenario& s) {
         zero3(s, 2);
         s.sharding.reshard_after_forward = s.sharding.reshard_after_backward = false;
         s.sharding.reduce_every_microbatch = false;
         clipped(s);
       }},
      {"FSDP, no_sync",
       [](Scenario& s) {
         zero3(s, 2);
         s.sharding.reduce_every_microbatch = false;
       }},
      {"FSDP, units of two layers",
       [](Scenario& s) {
         four_layers(s);
         zero3(s, 2);
         s.sharding.unit_layers = 2;
       }},
      {"FSDP, units of three of four layers, kept, limited on the host",
       [](Scenario& s) {
         four_layers(s);
         zero3(s, 2);
         s.sharding.unit_layers = 3;
         s.sharding.root_reshards = false;
         s.sharding.limit_on_host = true;
       }},
      {"FSDP, limited on the host",
       [](Scenario& s) {
         four_layers(s);
         zero3(s, 2);
         s.sharding.limit_on_host = true;
         s.overlap.prefetch_units = 0;
       }},
      {"FSDP, two ahead in the backward, none in the forward",
       [](Scenario& s) {
         four_layers(s);
         zero3(s, 2);
         s.overlap.prefetch_units = 0;
         s.overlap.prefetch_backward = 2;
       }},
  };
  return kPlans;
}

const std::vector<NamedPlan>& mixed_plans() {
  static const std::vector<NamedPlan> kPlans = {
      {"FSDP, mixed precision",
       [](Scenario& s) {
         zero3(s, 2);
         mixed(s);
         clipped(s);
       }},
      {"FSDP, mixed precision, reduced in 16 bits",
       [](Scenario& s) {
         zero3(s, 2);
         mixed(s);
         s.recipe.reduce_bytes = 2;
       }},
      {"FSDP, mixed precision, no_sync, units of two, full recomputation",
       [](Scenario& s) {
         four_layers(s);
         zero3(s, 2);
         mixed(s);
         full(s);
         s.sharding.unit_layers = 2;
         s.sharding.reduce_every_microbatch = false;
       }},
      {"FSDP of eight, mixed precision, one microbatch, two layers",
       [](Scenario& s) {
         zero3(s, 8);
         mixed(s);
         clipped(s);
       }},
      {"ZeRO-3, two of four layers stay live",
       [](Scenario& s) {
         four_layers(s);
         zero3(s, 2);
         s.sharding.live_layers = 2;
         s.overlap.prefetch_units = s.overlap.prefetch_backward = 2;
       }},
      {"ZeRO-3, all layers stay live",
       [](Scenario& s) {
         four_layers(s);
         zero3(s, 2);
         s.sharding.live_layers = 4;
         s.sharding.root_reshards = false;
         full(s);
       }},
      {"FSDP, a quarter kept for the backward",
       [](Scenario& s) {
         four_layers(s);
         zero3(s, 4);
         s.sharding.reshard_to = 2;
         full(s);
       }},
      {"ZeRO-2, reduced once",
       [](Scenario& s) {
         zero3(s, 2);
         s.parallel.zero = 2;
         s.sharding.reduce_every_microbatch = false;
       }},
  };
  return kPlans;
}

const std::vector<NamedPlan>& hybrid_plans() {
  static const std::vector<NamedPlan> kPlans = {
      {"ZeRO-1 in groups of two of four",
       [](Scenario& s) {
         zero3(s, 4);
         s.parallel.zero = 1;
         hybrid(s, 2);
       }},
      {"ZeRO-1 in groups of two of four, gathered with the forward, small buckets",
       [](Scenario& s) {
         zero3(s, 4);
         s.parallel.zero = 1;
         s.overlap.parameter_gather = true;
         s.overlap.bucket_elements = 700;
         hybrid(s, 2);
       }},
      {"ZeRO-2 in groups of two of four",
       [](Scenario& s) {
         zero3(s, 4);
         s.parallel.zero = 2;
         hybrid(s, 2);
       }},
      {"HSDP 2 x 2",
       [](Scenario& s) {
         zero3(s, 4);
         hybrid(s, 2);
       }},
      {"HSDP 4 x 2, mixed precision",
       [](Scenario& s) {
         zero3(s, 8);
         mixed(s);
         hybrid(s, 4);
       }},
      {"MiCS 2 x 2, replicas once a step",
       [](Scenario& s) {
         zero3(s, 4);
         hybrid(s, 2);
         s.sharding.replicas_every_microbatch = false;
       }},
      {"HSDP 2 x 2, offload",
       [](Scenario& s) {
         zero3(s, 4);
         hybrid(s, 2);
         s.offload.optimizer = scenarios::OffloadTarget::cpu;
       }},
  };
  return kPlans;
}

const std::vector<NamedPlan>& secondary_plans() {
  static const std::vector<NamedPlan> kPlans = {
      {"hpZ, secondary shards of two of four",
       [](Scenario& s) {
         zero3(s, 4);
         s.sharding.secondary = 2;
         clipped(s);
       }},
      {"hpZ, two layers ahead, full recomputation",
       [](Scenario& s) {
         four_layers(s);
         zero3(s, 4);
         s.sharding.secondary = 2;
         s.overlap.prefetch_units = 2;
         full(s);
       }},
      {"hpZ in groups of four of eight",
       [](Scenario& s) {
         zero3(s, 8);
         hybrid(s, 4);
         s.sharding.secondary = 2;
       }},
      {"TP2 x HSDP 2 x 2",
       [](Scenario& s) {
         s.parallel.tp = 2;
         s.parallel.sequence_parallel = true;
         zero3(s, 4);
         hybrid(s, 2);
       }},
      {"PP2 x HSDP 2 x 2, untied, gathered once a step",
       [](Scenario& s) {
         s.parallel.pp = 2;
         zero3(s, 4);
         hybrid(s, 2);
         s.model.tied_embeddings = false;
         s.sharding.reshard_after_forward = s.sharding.reshard_after_backward = false;
         s.sharding.reduce_every_microbatch = false;
         s.overlap.pipeline = true;
       }},
      {"PP2 interleaved x FSDP, untied, gathered once a step",
       [](Scenario& s) {
         four_layers(s);
         s.parallel.pp = s.parallel.vpp = 2;
         zero3(s, 2);
         s.model.tied_embeddings = false;
         s.sharding.reshard_after_forward = s.sharding.reshard_after_backward = false;
         s.sharding.reduce_every_microbatch = false;
         s.overlap.pipeline = true;
         full(s);
       }},
  };
  return kPlans;
}

}  // namespace

const std::vector<NamedPlan>& sharding_plans() {
  static const std::vector<NamedPlan> kPlans = [] {
    std::vector<NamedPlan> all = fsdp_plans();
    for (const auto* more : {&mixed_plans(), &hybrid_plans(), &secondary_plans()})
      all.insert(all.end(), more->begin(), more->end());
    return all;
  }();
  return kPlans;
}

}  // namespace orrery::interpreter
