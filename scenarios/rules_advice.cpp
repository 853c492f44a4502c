// Legal, but probably not what was meant: warnings that say what the plan will do, with the number.
#include <algorithm>

#include <fmt/format.h>

#include "scenarios/copies.h"
#include "scenarios/rules.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

std::int64_t node_of(const hardware::Cluster& cluster, std::int64_t rank) {
  return cluster.placement == hardware::Placement::packed ? rank / cluster.node.gpus : rank % cluster.nodes;
}

// Whether some tensor group has members on two machines.
bool tensor_crosses(const Parallel& p, const hardware::Cluster& cluster) {
  for (std::int64_t rank = 0; rank < p.world(); ++rank) {
    const std::int64_t first = rank - rank / p.tp_stride % p.tp * p.tp_stride;
    if (node_of(cluster, rank) != node_of(cluster, first)) return true;
  }
  return false;
}

void tensor_leaves_node(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const hardware::Cluster& cluster = d.scenario.cluster;
  if (p.tp == 1 || !tensor_crosses(p, cluster)) return;
  const int gpus = cluster.node.gpus;
  diagnostics.warning(
      d.at("parallel.tp"),
      fmt::format("tp={} spans nodes of {} GPUs: every layer waits for the network four times", p.tp, gpus),
      cluster.placement == hardware::Placement::packed
          ? "keep tp within a node, and put tp first in the order"
          : "placement \"packed\", or an order in which tp strides over the nodes");
}

void zero_shards_nothing(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (p.zero == 0 || p.replicas() > 1) return;
  diagnostics.warning(d.at("parallel.zero"), fmt::format("zero={} shards nothing: dp is 1", p.zero),
                      "states shrink with dp only; use more data-parallel ranks, tp or pp");
}

void pipeline_bubble(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t m = d.scenario.training.microbatches;
  if (p.pp == 1 || m >= p.pp) return;
  if (traits(p.schedule).splits_backward) {
    diagnostics.warning(d.at("training.global_batch"),
                        fmt::format("{} microbatches do not fill pp={} stages, whatever the schedule", m, p.pp),
                        fmt::format("{} microbatches or more", p.pp));
    return;
  }
  const double rounds = static_cast<double>(m) * static_cast<double>(p.vpp);
  const double bubble = static_cast<double>(p.pp - 1) / (rounds + static_cast<double>(p.pp - 1));
  diagnostics.warning(
      d.at("training.global_batch"),
      fmt::format("{} microbatches do not fill pp={} stages: at least {:.0f} % of the step is bubble", m,
                  p.pp, 100.0 * bubble),
      fmt::format("{} microbatches or more (a larger global_batch, or a smaller micro_batch)", p.pp));
}

void selective_saves_nothing(Draft& d, Diagnostics& diagnostics) {
  if (d.scenario.training.recompute != Recompute::selective || !d.scenario.kernels.fused_attention) return;
  diagnostics.warning(
      d.at("training.recompute"),
      "selective recomputation saves almost nothing: the fused attention kernel never keeps the s x s "
      "scores",
      "use \"none\" or \"full\", or set kernels.fused_attention to false");
}

void zero_traffic_in_pipeline(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (p.zero < 2 || p.pp == 1 || p.replicas() == 1 || d.scenario.framework == Framework::deepspeed) return;
  diagnostics.warning(
      d.at("parallel.zero"),
      fmt::format("ZeRO-{} in a pipeline moves its gradients{} {} times a step, once a microbatch", p.zero,
                  p.zero == 3 ? " and weights" : "", d.scenario.training.microbatches),
      "zero 1 moves them once");
}

void schedule_of_framework(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const Framework f = d.scenario.framework;
  const bool of_megatron =
      p.schedule == PipelineSchedule::one_f_one_b || p.schedule == PipelineSchedule::interleaved;
  const bool foreign = (f == Framework::megatron && !of_megatron) ||
                       (f == Framework::deepspeed && p.schedule != PipelineSchedule::one_f_one_b);
  if (p.pp == 1 || !foreign) return;
  const bool by_chunks = p.schedule == PipelineSchedule::interleaved && !d.written("parallel.schedule");
  diagnostics.error(d.at(by_chunks ? "parallel.vpp" : "parallel.schedule"),
                    fmt::format("{} has no {} schedule", word(f), word(p.schedule)),
                    f == Framework::megatron ? "use \"1f1b\" or \"interleaved\", or framework \"orrery\""
                                             : "use \"1f1b\" without vpp, or framework \"orrery\"");
}

void sharding_of_megatron(Draft& d, Diagnostics& diagnostics) {
  if (d.scenario.framework != Framework::megatron || d.scenario.parallel.zero < 2) return;
  diagnostics.warning(
      d.at("parallel.zero"),
      fmt::format("Megatron-LM's distributed optimizer is ZeRO-1; zero={} is simulated with its other "
                  "policies",
                  d.scenario.parallel.zero),
      "zero 1");
}

// ZeRO-2 and 3 reduce unit by unit (frameworks.md): a bucket that holds the largest unit cuts nothing.
bool bucket_cuts_nothing(const Scenario& s) {
  const std::int64_t bucket = s.overlap.bucket_elements, embedding = s.model.vocab * s.model.hidden;
  const std::int64_t layer = models::largest_layer_unit(s.model, s.model.experts.count / s.parallel.ep);
  return s.parallel.zero >= 2 && s.overlap.bucket_buffers == 0 &&
         (bucket == 0 || bucket > std::max(layer, embedding) / s.parallel.tp);
}

template <typename Idle>
void sharding_without_effect(const Scenario& s, Idle&& idle) {
  const Parallel& p = s.parallel;
  const std::string zero = fmt::format("zero is {}", p.zero);
  for (const char* path : {"sharding.reshard_after_forward", "sharding.reshard_after_backward", "sharding.root_reshards",
                           "sharding.secondary_group", "sharding.unit_layers", "sharding.limit_all_gathers",
                           "sharding.forward_prefetch", "sharding.backward_prefetch",
                           "sharding.max_live_elements", "sharding.max_reuse_elements"})
    idle(path, p.zero != 3 || p.replicas() == 1, p.zero != 3 ? zero : "dp is 1");
  idle("sharding.group", p.zero == 0 || p.replicas() == 1, p.zero == 0 ? zero : "dp is 1");
  idle("sharding.reduce", p.zero < 2 || p.replicas() == 1, p.zero < 2 ? zero : "dp is 1");
  idle("sharding.reduce_replicas", s.sharding.group == 0 || p.zero < 2, "there are no replicas of shards");
}

// Settings that stand in the file although this plan gives them nothing to do.
void settings_without_effect(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  const Parallel& p = s.parallel;
  const auto idle = [&](const char* path, bool without_effect, std::string why) {
    // A base says what many scenarios have in common; that one of them does not need it all is no news.
    const auto& source = d.at(path).source;
    const bool own = source == s.origins.scenario.source || (source && source->path.starts_with("--set"));
    if (without_effect && d.written(path) && own)
      diagnostics.warning(d.at(path), fmt::format("{} has no effect: {}", path, why));
  };
  const std::string zero = fmt::format("zero is {}", p.zero);
  idle("overlap.gradient_reduce", p.replicas() == 1, "dp is 1");
  for (const char* bucket : {"overlap.bucket_elements", "overlap.bucket_size"}) {
    idle(bucket, p.replicas() == 1, "dp is 1");
    idle(bucket, p.replicas() > 1 && bucket_cuts_nothing(s),
         fmt::format("{}, which reduces each layer by itself, and no layer is larger", zero));
  }
  idle("overlap.parameter_gather", p.zero != 1 && p.zero != 2, zero);
  idle("overlap.bucket_buffers", p.replicas() == 1, "dp is 1");
  idle("overlap.prefetch_units", p.zero != 3, zero);
  idle("overlap.prefetch_backward", p.zero != 3, zero);
  sharding_without_effect(s, idle);
  idle("overlap.pipeline", p.pp == 1, "pp is 1");
  idle("overlap.tensor_backward", p.tp == 1, "tp is 1");
  idle("experts.dispatch", p.ep == 1, "ep is 1");
  idle("overlap.expert_exchange", s.model.experts.count == 0 || p.ep * p.etp == 1,
       s.model.experts.count == 0 ? "the model has no experts" : "ep and etp are 1");
  idle("overlap.tensor_chunks", p.tp == 1, "tp is 1");
  idle("compression.top_k", s.compression.top_k > 0.0 && p.replicas() == 1, "dp is 1");
  idle("kernels.fused_softmax", s.kernels.fused_attention, "the attention kernel is fused");
  idle("kernels.softmax_fp32_copy", s.kernels.fused_attention, "the attention kernel is fused");
  idle("offload.pinned", s.offload.optimizer == OffloadTarget::none, "nothing is offloaded");
}

void compression_of_copies(Draft& d, Diagnostics& diagnostics) {
  const std::string why = why_copies_drift(d.scenario);
  if (why.empty()) return;
  diagnostics.warning(d.at("compression.top_k"), why + ": in training these copies drift apart",
                      "the time is predicted; orrery-rt refuses to train so: tp 1 and an untied embedding, or top_k 0 or 1");
}

}  // namespace

const std::vector<Rule>& advice_rules() {
  static const std::vector<Rule> rules = {
      {"tp in node", "tp stays within a node", kWorldKnown, 0, tensor_leaves_node},
      {"zero needs dp", "ZeRO with dp 1 shards nothing", kWorldKnown, 0, zero_shards_nothing},
      {"bubble", "fewer microbatches than stages leave a bubble", kBatchKnown | kStagesKnown, 0,
       pipeline_bubble},
      {"selective", "selective recomputation with fused attention saves almost nothing",
       kPolicyKnown | kTrainingKnown, 0, selective_saves_nothing},
      {"zero in pipeline", "ZeRO-2 and 3 in a pipeline move their traffic every microbatch", kBatchKnown, 0,
       zero_traffic_in_pipeline},
      {"schedule", "the framework has this pipeline schedule", kStagesKnown, 0, schedule_of_framework},
      {"megatron sharding", "Megatron's distributed optimizer is ZeRO-1", kParallelKnown, 0,
       sharding_of_megatron},
      {"compressed copies", "top-k compression selects alike on ranks that share weights",
       kWorldKnown | kStagesKnown | kPolicyKnown | kModelKnown, 0, compression_of_copies},
      {"idle settings", "what is set has something to do", kWorldKnown | kPolicyKnown, 0,
       settings_without_effect},
  };
  return rules;
}

}  // namespace orrery::scenarios
