// What PyTorch's DistributedDataParallel and FSDP, and torchtitan on top of them, do not do:
// torch.distributed.fsdp (fully_shard and its policies), torch.distributed.pipelining.schedules, torchtitan's
// job configuration.
#include <fmt/format.h>

#include "scenarios/divisors.h"
#include "scenarios/rules.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

bool fsdp2(const Draft& d) { return d.scenario.framework == Framework::fsdp; }
bool fsdp1(const Draft& d) { return d.scenario.framework == Framework::fsdp1; }
bool fsdp(const Draft& d) { return fsdp2(d) || fsdp1(d); }
bool ddp(const Draft& d) { return d.scenario.framework == Framework::ddp; }
bool gathers(const Scenario& s) { return s.parallel.zero == 3 && s.parallel.replicas() > 1; }

// torchtitan: seq_len_divisor = tp * 2 cp.
void sequence_divides(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t s = d.scenario.training.sequence_length, by = p.tp * (p.cp > 1 ? 2 * p.cp : 1);
  if (!fsdp2(d) || p.tp == 1 || p.sequence_parallel || s % by == 0) return;
  diagnostics.error(d.at("training.sequence_length"),
                    fmt::format("torchtitan cuts sequences over tp{}: {} is not a multiple of {}",
                                p.cp > 1 ? " x 2 cp" : "", s, by),
                    fmt::format("use {}", alternatives(nearest_multiples(s, by))));
}

void sequence_parallel_with_tensor(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (!fsdp2(d) || p.tp == 1 || p.sequence_parallel) return;
  diagnostics.warning(
      d.at("parallel.tp"),
      "torchtitan's tensor parallelism shards norms over the sequence, too (SequenceParallel)",
      "set sp to true to predict that");
}

void tied_across_stages(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (!fsdp2(d) || p.pp == 1 || !d.scenario.model.tied_embeddings || p.zero >= 2) return;
  diagnostics.error(
      d.at("parallel.pp"),
      "torch.distributed.pipelining has no weight that two stages share, but the embedding is tied",
      "use pp 1, or a model with tied_embeddings false");
}

void reduction_has_its_stream(Draft& d, Diagnostics& diagnostics) {
  if (!fsdp(d) || !gathers(d.scenario) || d.scenario.overlap.gradient_reduce) return;
  diagnostics.error(d.at("overlap.gradient_reduce"), "FSDP's reduce_scatter always has a stream of its own",
                    "set it to true, or leave it out");
}

void offload_is_of_everything(Draft& d, Diagnostics& diagnostics) {
  if (!fsdp(d) || d.scenario.offload.optimizer == OffloadTarget::none) return;
  diagnostics.error(d.at("offload.optimizer"),
                    "FSDP's CPU offloading keeps parameters and gradients on the host, too, and copies "
                    "shards before every gather",
                    "offload nothing, or use framework \"deepspeed\"");
}

void no_compression(Draft& d, Diagnostics& diagnostics) {
  if (!fsdp2(d) || d.scenario.compression.top_k == 0.0) return;
  diagnostics.error(d.at("compression.top_k"), "FSDP2 has no communication hooks that could select gradients",
                    "leave it out, or use framework \"ddp\"");
}

void units_are_buckets(Draft& d, Diagnostics& diagnostics) {
  const bool written = d.written("overlap.bucket_elements") || d.written("overlap.bucket_size");
  if (!fsdp(d) || !gathers(d.scenario) || !written || d.scenario.overlap.bucket_elements == 0) return;
  diagnostics.error(
      d.at(d.written("overlap.bucket_size") ? "overlap.bucket_size" : "overlap.bucket_elements"),
      "FSDP reduces each unit in one message: it has no buckets", "set sharding.unit_layers instead");
}

void narrow_moments(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if ((!fsdp(d) && !ddp(d)) || s.training.optimizer != Optimizer::adam || s.recipe.optimizer_state_bytes == 8)
    return;
  diagnostics.error(d.at("recipe.optimizer_state_bytes"),
                    "torch.optim.AdamW keeps its moments in the parameters' type, which is fp32 here",
                    "set optimizer_state_bytes to 8, or use framework \"megatron\" with zero 1");
}

void fsdp1_without_pipeline(Draft& d, Diagnostics& diagnostics) {
  if (!fsdp1(d) || d.scenario.parallel.pp == 1) return;
  diagnostics.error(d.at("parallel.pp"),
                    fmt::format("torch.distributed.pipelining knows DDP and FSDP2, not FSDP1: with pp={} it would gather and "
                                "reduce in every microbatch behind its back",
                                d.scenario.parallel.pp),
                    "use pp 1, or framework \"fsdp\"");
}

// The words of FullyShardedDataParallel's constructor.
void words_of_fsdp1(Draft& d, Diagnostics& diagnostics) {
  const Framework f = d.scenario.framework;
  if (f == Framework::fsdp1) return;
  if (d.written("sharding.strategy"))
    diagnostics.error(d.at("sharding.strategy"), fmt::format("sharding strategies are FSDP1's; framework is {}", word(f)),
                      "use framework \"fsdp1\", or say it with parallel.zero, sharding.reshard_after_forward and group");
  if (f == Framework::orrery) return;
  for (const char* path : {"sharding.forward_prefetch", "sharding.backward_prefetch"})
    if (d.written(path))
      diagnostics.error(d.at(path), fmt::format("{} is a choice in FSDP1; {} has its own order", path, word(f)),
                        "leave it out, or use framework \"fsdp1\"");
}

void strategy_agrees(Draft& d, Diagnostics& diagnostics) {
  if (!fsdp1(d) || !d.written("sharding.strategy") || !d.written("parallel.zero")) return;
  const bool whole = d.json.find("sharding")->find("strategy")->string == "no_shard";
  if (whole == (d.scenario.parallel.zero == 0)) return;
  diagnostics.error(d.at("parallel.zero"),
                    fmt::format("zero={} contradicts the sharding strategy, which {}", d.scenario.parallel.zero,
                                whole ? "shards nothing" : "shards weights"),
                    whole ? "leave it out, or use 0" : "leave it out, or use 3");
}

void post_prefetches_nothing(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if (s.sharding.backward_prefetch == BackwardPrefetch::pre || s.overlap.prefetch_backward == 0) return;
  diagnostics.error(d.at("overlap.prefetch_backward"),
                    fmt::format("backward_prefetch \"{}\" asks for a unit when the one before it is over: {} cannot be ahead",
                                s.sharding.backward_prefetch == BackwardPrefetch::post ? "post" : "none",
                                s.overlap.prefetch_backward),
                    "use 0, or backward_prefetch \"pre\"");
}

// What stays gathered for the step: SHARD_GRAD_OP inside no_sync, and nothing else.
void fsdp1_reshards(Draft& d, Diagnostics& diagnostics) {
  const Sharding& s = d.scenario.sharding;
  if (!fsdp1(d) || !gathers(d.scenario) || s.reshard_after_backward) return;
  if (!s.reshard_after_forward && !s.reduce_every_microbatch) return;
  diagnostics.error(d.at("sharding.reshard_after_backward"),
                    "FSDP1 gives weights back after every backward, but for SHARD_GRAD_OP inside no_sync()",
                    "set it to true, or strategy to \"shard_grad_op\" and reduce to \"step\"");
}

void ddp_offload(Draft& d, Diagnostics& diagnostics) {
  if (!ddp(d) || d.scenario.offload.optimizer == OffloadTarget::none) return;
  diagnostics.error(d.at("offload.optimizer"),
                    "DistributedDataParallel leaves the optimizer to PyTorch, which runs it on the GPU",
                    "offload nothing, or use framework \"deepspeed\"");
}

void ddp_sequence_parallel(Draft& d, Diagnostics& diagnostics) {
  if (!ddp(d) || d.scenario.parallel.cp == 1) return;
  diagnostics.error(d.at("parallel.cp"),
                    fmt::format("framework ddp is data parallel only, but cp={}", d.scenario.parallel.cp),
                    "set it to 1, or use framework \"megatron\" or \"fsdp\"");
}

void ddp_gather(Draft& d, Diagnostics& diagnostics) {
  if (!ddp(d) || d.scenario.parallel.zero != 1 || !d.scenario.overlap.parameter_gather) return;
  diagnostics.error(d.at("overlap.parameter_gather"),
                    "ZeroRedundancyOptimizer broadcasts the updated weights inside its step",
                    "set parameter_gather to false, or use framework \"megatron\" with zero 1");
}

void ddp_mixed(Draft& d, Diagnostics& diagnostics) {
  if (!ddp(d) || d.scenario.recipe.gradient_bytes == 4 || !is_half(d.scenario.training.precision)) return;
  diagnostics.error(d.at("recipe.gradient_bytes"),
                    "under autocast the parameters are fp32, and so are their gradients; a 16-bit reduction "
                    "is a hook that DDP casts "
                    "back",
                    "set gradient_bytes to 4");
}

}  // namespace

const std::vector<Rule>& torch_rules() {
  constexpr std::uint32_t kPlan = kParallelKnown | kPolicyKnown;
  static const std::vector<Rule> rules = {
      {"torchtitan sequence", "torchtitan: sequences are multiples of tp (x 2 cp)",
       kParallelKnown | kTrainingKnown, 0, sequence_divides},
      {"torchtitan sp", "torchtitan: tensor parallelism brings sequence parallelism", kParallelKnown, 0,
       sequence_parallel_with_tensor},
      {"torch tied embedding", "torch pipelining: no weight is shared by two stages",
       kModelKnown | kParallelKnown, 0, tied_across_stages},
      {"fsdp reduction", "FSDP: gradients are reduced on a stream of their own", kPlan | kWorldKnown, 0,
       reduction_has_its_stream},
      {"fsdp offload", "FSDP: offloading takes parameters and gradients, too", kPlan, 0,
       offload_is_of_everything},
      {"fsdp compression", "FSDP: no communication hooks", kPlan, 0, no_compression},
      {"fsdp buckets", "FSDP: units are the buckets", kPlan | kWorldKnown, 0, units_are_buckets},
      {"fsdp1 pipeline", "FSDP1: no pipeline", kParallelKnown, 0, fsdp1_without_pipeline},
      {"fsdp1 words", "strategies and the order of prefetches are FSDP1's", kPlan, 0, words_of_fsdp1},
      {"fsdp1 strategy", "FSDP1: zero goes with the sharding strategy", kPlan, 0, strategy_agrees},
      {"backward prefetch", "backward_prefetch post and none prefetch nothing", kPlan, 0, post_prefetches_nothing},
      {"fsdp1 reshards", "FSDP1: weights stay behind a backward in SHARD_GRAD_OP without synchronisation only",
       kPlan | kWorldKnown, 0, fsdp1_reshards},
      {"torch moments", "FSDP, DDP: AdamW's moments are fp32", kPlan | kTrainingKnown, 0, narrow_moments},
      {"ddp offload", "DDP: the optimizer runs on the GPU", kPlan, 0, ddp_offload},
      {"ddp cp", "DDP: no context parallelism", kParallelKnown, 0, ddp_sequence_parallel},
      {"ddp gather", "DDP: ZeroRedundancyOptimizer gathers in its step", kPlan, 0, ddp_gather},
      {"ddp gradients", "DDP: gradients of fp32 parameters are fp32", kPlan | kTrainingKnown, 0, ddp_mixed},
  };
  return rules;
}

}  // namespace orrery::scenarios
