// What Megatron-LM refuses at start: validate_args in megatron/training/arguments.py, and the checks of
// Megatron-Core's TransformerConfig and OptimizerConfig. Each says what Megatron says, and the nearest
// setting that it takes.
#include <algorithm>

#include <fmt/format.h>

#include "scenarios/rules.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

bool megatron(const Draft& d) { return d.scenario.framework == Framework::megatron; }
bool distributed_optimizer(const Scenario& s) { return s.parallel.zero >= 1; }

void gather_needs_distributed_optimizer(Draft& d, Diagnostics& diagnostics) {
  if (!megatron(d) || !d.scenario.overlap.parameter_gather || distributed_optimizer(d.scenario)) return;
  diagnostics.error(
      d.at("overlap.parameter_gather"),
      "Megatron overlaps the gather of updated weights (--overlap-param-gather) with the distributed "
      "optimizer only: without it, nothing is gathered",
      "set zero to 1, or parameter_gather to false");
}

void gather_needs_reduce(Draft& d, Diagnostics& diagnostics) {
  const Overlap& o = d.scenario.overlap;
  if (!megatron(d) || !o.parameter_gather || o.gradient_reduce || !distributed_optimizer(d.scenario)) return;
  diagnostics.error(
      d.at("overlap.parameter_gather"),
      "Megatron's --overlap-param-gather needs --overlap-grad-reduce: both work on its gradient buckets",
      "set gradient_reduce to true, or parameter_gather to false");
}

// "to avoid having multiple p2p sends and recvs between same 2 ranks per communication batch"
void interleaving_on_two_stages(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (!megatron(d) || p.vpp == 1 || p.pp != 2 || d.scenario.overlap.pipeline) return;
  diagnostics.error(
      d.at(d.written("overlap.pipeline") ? "overlap.pipeline" : "parallel.pp"),
      "Megatron interleaves two stages with overlapped messages only: else a batch of messages would have "
      "several sends and receives between the same two ranks",
      "set overlap.pipeline to true, or pp to 4, or vpp to 1");
}

void offload_needs_distributed_optimizer(Draft& d, Diagnostics& diagnostics) {
  if (!megatron(d) || d.scenario.offload.optimizer == OffloadTarget::none ||
      distributed_optimizer(d.scenario))
    return;
  diagnostics.error(
      d.at("offload.optimizer"),
      "Megatron's --optimizer-cpu-offload goes through its precision-aware optimizer, which is a distributed "
      "optimizer",
      "set zero to 1, or offload nothing");
}

void narrow_moments_need_distributed_optimizer(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if (!megatron(d) || s.training.optimizer != Optimizer::adam || s.recipe.optimizer_state_bytes == 8 ||
      distributed_optimizer(s))
    return;
  diagnostics.error(
      d.at("recipe.optimizer_state_bytes"),
      "16-bit moments are Megatron's --use-precision-aware-optimizer, which needs the distributed optimizer",
      "set zero to 1, or optimizer_state_bytes to 8");
}

void main_parameters(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if (!megatron(d) || !is_half(s.training.precision) || s.recipe.master_weights ||
      s.recipe.gathered_bytes != 0)
    return;
  diagnostics.error(
      d.at("recipe.master_weights"),
      fmt::format("Megatron's {} optimizer always keeps fp32 main parameters", word(s.training.precision)),
      "set master_weights to true, or train in fp32");
}

void no_compression(Draft& d, Diagnostics& diagnostics) {
  if (!megatron(d) || d.scenario.compression.top_k == 0.0) return;
  diagnostics.warning(d.at("compression.top_k"),
                    "Megatron-LM sends whole gradients: it has no top-k compression",
                    "leave it out, or use framework \"orrery\"");
}

void groups_of_the_distributed_optimizer(Draft& d, Diagnostics& diagnostics) {
  if (!megatron(d) || d.scenario.sharding.group == 0 || d.scenario.parallel.zero != 3) return;
  diagnostics.error(
      d.at("sharding.group"),
      "several instances (--num-distributed-optimizer-instances) are for the distributed optimizer, which "
      "is ZeRO-1",
      "use zero 1, or framework \"fsdp\" for HSDP");
}

void secondary_shards(Draft& d, Diagnostics& diagnostics) {
  const Sharding& s = d.scenario.sharding;
  if (!megatron(d) || (s.secondary == 0 && s.reshard_to == 0)) return;
  diagnostics.error(d.at(s.secondary > 0 ? "sharding.secondary_group" : "sharding.reshard_after_forward"),
                    "Megatron-LM keeps no second shard of weights for the backward",
                    "leave it out, or use framework \"deepspeed\" (hpZ) or \"fsdp\"");
}

void whole_layers_recomputed(Draft& d, Diagnostics& diagnostics) {
  const Training& t = d.scenario.training;
  const std::vector<std::int64_t>& stages = d.scenario.parallel.layers_of_stage;
  if (!megatron(d) || t.recompute != Recompute::full || t.recompute_every == 1) return;
  std::int64_t least = t.recompute_every;
  for (const std::int64_t layers : stages)
    if (layers > 0) least = std::min(least, layers);
  if (least == t.recompute_every) return;
  diagnostics.error(
      d.at("training.recompute_every"),
      fmt::format("Megatron's uniform recomputation takes stretches within a virtual stage, and one has {} "
                  "layer{}",
                  least, least == 1 ? "" : "s"),
      fmt::format("use at most {}", least));
}

void attention_is_selective(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if (!megatron(d) || s.kernels.fused_attention || s.kernels.fused_softmax || s.training.dropout == 0.0 ||
      s.training.recompute != Recompute::selective)
    return;
  diagnostics.warning(
      d.at("training.recompute"),
      "selective recomputation with an unfused softmax runs three passes over the scores again",
      "kernels.fused_softmax true is Megatron's default");
}

// "can happen only when sequence parallelism is enabled"
void chunks_need_sequence_parallelism(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (!megatron(d) || d.scenario.overlap.tensor_chunks == 1 || p.tp == 1 || p.sequence_parallel) return;
  diagnostics.error(d.at("overlap.tensor_chunks"),
                    "Megatron's --tp-comm-overlap works on the gathers and scatters of sequence parallelism only",
                    "set sp to true, or tensor_chunks to 1");
}

}  // namespace

const std::vector<Rule>& megatron_rules() {
  constexpr std::uint32_t kPlan = kParallelKnown | kPolicyKnown;
  static const std::vector<Rule> rules = {
      {"megatron gather", "Megatron: an overlapped gather of weights needs the distributed optimizer", kPlan,
       0, gather_needs_distributed_optimizer},
      {"megatron gather and reduce",
       "Megatron: an overlapped gather of weights needs the overlapped reduction", kPlan, 0,
       gather_needs_reduce},
      {"megatron two stages", "Megatron: two interleaved stages need overlapped messages",
       kPlan | kStagesKnown, 0, interleaving_on_two_stages},
      {"megatron offload", "Megatron: an offloaded optimizer is a distributed one", kPlan, 0,
       offload_needs_distributed_optimizer},
      {"megatron moments", "Megatron: 16-bit moments need the distributed optimizer", kPlan | kTrainingKnown,
       0, narrow_moments_need_distributed_optimizer},
      {"megatron main parameters", "Megatron: fp16 and bf16 keep fp32 main parameters",
       kPlan | kTrainingKnown, 0, main_parameters},
      {"megatron compression", "Megatron: gradients are not compressed", kPlan, 0, no_compression},
      {"megatron instances", "Megatron: optimizer groups are the distributed optimizer's (ZeRO-1)", kPlan, 0,
       groups_of_the_distributed_optimizer},
      {"megatron secondary", "Megatron: no secondary shards", kPlan, 0, secondary_shards},
      {"megatron recompute", "Megatron: recomputed stretches lie within a virtual stage",
       kTrainingKnown | kStagesKnown, 0, whole_layers_recomputed},
      {"megatron chunks", "Megatron: tensor_chunks needs sequence parallelism", kPlan, 0, chunks_need_sequence_parallelism},
      {"megatron softmax", "Megatron: selective recomputation of an unfused softmax is slow",
       kPlan | kTrainingKnown, 0, attention_is_selective},
  };
  return rules;
}

}  // namespace orrery::scenarios
