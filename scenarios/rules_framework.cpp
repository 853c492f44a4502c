// Does the framework do this at all, and does the hardware? Each refusal names who refuses and why.
// Sources: docs/reference/frameworks.md.
#include <algorithm>

#include <fmt/format.h>

#include "scenarios/divisors.h"
#include "scenarios/rules.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

void zero_with_pipeline(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (d.scenario.framework != Framework::deepspeed || p.zero < 2 || p.pp == 1) return;
  diagnostics.error(
      d.at("parallel.zero"),
      fmt::format("DeepSpeed refuses ZeRO-{} with pipeline parallelism (pp={}): its pipeline accumulates "
                  "whole gradients over the microbatches, ZeRO-2 and 3 keep only a shard of them",
                  p.zero, p.pp),
      "use zero 0 or 1, or pp 1");
}

void ddp_is_data_parallel(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (d.scenario.framework != Framework::ddp) return;
  const char* instead = "set it to 1, or use framework \"megatron\" or \"orrery\"";
  if (p.tp > 1)
    diagnostics.error(d.at("parallel.tp"),
                      fmt::format("framework ddp is data parallel only, but tp={}", p.tp), instead);
  if (p.pp > 1)
    diagnostics.error(d.at("parallel.pp"),
                      fmt::format("framework ddp is data parallel only, but pp={}", p.pp), instead);
  if (p.zero >= 2)
    diagnostics.error(d.at("parallel.zero"),
                      fmt::format("framework ddp keeps whole gradients on every rank, but zero={}", p.zero),
                      "use zero 0, or 1 (ZeroRedundancyOptimizer), or framework \"deepspeed\" or \"orrery\"");
}

void tied_embedding_under_zero(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (!d.scenario.model.tied_embeddings || p.pp == 1 || p.zero < 2) return;
  if (d.scenario.framework == Framework::deepspeed || d.scenario.framework == Framework::ddp)
    return;  // said above
  diagnostics.error(
      d.at("parallel.zero"),
      fmt::format(
          "the model's embedding is tied to its output layer, which pp={} puts on another stage: both add up "
          "whole gradients, of which ZeRO-{} keeps only a shard",
          p.pp, p.zero),
      "use zero 0 or 1, or pp 1, or a model with tied_embeddings false");
}

void precision_in_hardware(Draft& d, Diagnostics& diagnostics) {
  const hardware::Gpu& gpu = d.scenario.cluster.gpu;
  if (gpu.peak(d.scenario.training.precision).value() > 0.0) return;
  std::vector<std::string> supported;
  for (const auto& [text, precision] : precision_words())
    if (gpu.peak(precision).value() > 0.0) supported.push_back(text);
  diagnostics.error(d.at("training.precision"),
                    fmt::format("{} has no {} arithmetic", gpu.name, word(d.scenario.training.precision)),
                    fmt::format("use {}", alternatives(supported)));
}

void algorithm_in_hardware(Draft& d, Diagnostics& diagnostics) {
  const Algorithm a = d.scenario.network.algorithm;
  if ((a != Algorithm::nvls && a != Algorithm::nvls_tree) || d.scenario.cluster.node.nvls) return;
  diagnostics.error(
      d.at("network.algorithm"),
      fmt::format("algorithm {} reduces inside the NVSwitch (NVLink SHARP), which this cluster's nodes lack",
                  word(a)),
      "use \"auto\", \"ring\" or \"tree\"");
}

void recompute_every_needs_full(Draft& d, Diagnostics& diagnostics) {
  const Training& t = d.scenario.training;
  if (t.recompute_every == 1 || t.recompute == Recompute::full) return;
  diagnostics.error(
      d.at("training.recompute_every"),
      fmt::format("recompute_every={} says how full recomputation is spaced, but recompute is {}",
                  t.recompute_every, word(t.recompute)),
      "set recompute to \"full\", or recompute_every to 1");
}

void recompute_layers_exist(Draft& d, Diagnostics& diagnostics) {
  Training& t = d.scenario.training;
  const std::vector<std::int64_t>& layers = d.scenario.parallel.layers_of_stage;
  if (!d.recompute_layers && t.recompute_layers.empty()) return;
  const Place place = d.at("training.recompute_layers");
  if (t.recompute != Recompute::full) {
    diagnostics.error(place, fmt::format("recompute_layers says which layers full recomputation covers, but recompute is {}",
                                         word(t.recompute)),
                      "set recompute to \"full\", or leave recompute_layers out");
    return;
  }
  if (d.recompute_layers) {  // of every stage, as many as it has
    for (const std::int64_t has : layers) t.recompute_layers.push_back(std::min(has, *d.recompute_layers));
    if (*d.recompute_layers > *std::max_element(layers.begin(), layers.end()))
      diagnostics.error(place, fmt::format("recompute_layers={} is more than any stage has", *d.recompute_layers),
                        fmt::format("use at most {}", *std::max_element(layers.begin(), layers.end())));
    return;
  }
  if (t.recompute_layers.size() != layers.size()) {
    diagnostics.error(place, fmt::format("recompute_layers has {} entries, but there are {} virtual stages",
                                         t.recompute_layers.size(), layers.size()),
                      "one number per virtual stage, in model order, or one for all");
    return;
  }
  for (std::size_t v = 0; v < layers.size(); ++v)
    if (t.recompute_layers[v] > layers[v])
      diagnostics.error(place, fmt::format("virtual stage {} has {} layers and cannot recompute {}", v, layers[v],
                                           t.recompute_layers[v]),
                        fmt::format("use at most {}", layers[v]));
}

void recompute_every_within_model(Draft& d, Diagnostics& diagnostics) {
  const std::int64_t every = d.scenario.training.recompute_every;
  if (every <= d.scenario.model.layers) return;
  diagnostics.error(
      d.at("training.recompute_every"),
      fmt::format("recompute_every={} is more than the model's {} layers", every, d.scenario.model.layers),
      fmt::format("use at most {}", d.scenario.model.layers));
}

void offload_optimizer_exists(Draft& d, Diagnostics& diagnostics) {
  if (d.scenario.offload.optimizer == OffloadTarget::none || d.scenario.training.optimizer == Optimizer::adam)
    return;
  diagnostics.error(d.at("offload.optimizer"), "only Adam runs on the CPU when the optimizer is offloaded",
                    "use optimizer \"adamw\", or offload nothing");
}

// What a recorded graph cannot hold: work of the host, and waits of it in the middle.
void graphs_hold_no_host(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if (!s.kernels.cuda_graphs) return;
  const bool offloads = s.offload.optimizer != OffloadTarget::none, limits = s.sharding.limit_on_host && s.parallel.zero == 3;
  if (!offloads && !limits) return;
  diagnostics.error(d.at("kernels.cuda_graphs"),
                    fmt::format("a CUDA graph holds work of the GPU alone, but {}",
                                offloads ? "the offloaded optimizer runs on the host" : "limit_all_gathers makes the host wait"),
                    fmt::format("set cuda_graphs to false, or {}", offloads ? "offload nothing" : "limit_all_gathers to false"));
}

void graphs_of_framework(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if (!s.kernels.cuda_graphs) return;
  if (s.framework == Framework::deepspeed)
    diagnostics.error(d.at("kernels.cuda_graphs"), "DeepSpeed records CUDA graphs for inference, not for training steps",
                      "set cuda_graphs to false, or use framework \"megatron\"");
  if (s.framework == Framework::megatron && s.training.recompute == Recompute::full)
    diagnostics.error(d.at("kernels.cuda_graphs"), "Megatron does not record CUDA graphs of layers that are recomputed in full",
                      "set cuda_graphs to false, or recompute to \"none\" or \"selective\"");
  if ((s.framework == Framework::fsdp || s.framework == Framework::fsdp1) && s.parallel.zero == 3 && s.parallel.replicas() > 1)
    diagnostics.error(d.at("kernels.cuda_graphs"),
                      "FSDP's hooks allocate and free gathered weights in every step, which a recorded graph cannot",
                      "set cuda_graphs to false, or use framework \"megatron\" with zero 1");
}

}  // namespace

const std::vector<Rule>& framework_rules() {
  static const std::vector<Rule> rules = {
      {"deepspeed pipeline", "DeepSpeed: ZeRO-2 and 3 exclude pipeline parallelism", kParallelKnown, 0,
       zero_with_pipeline},
      {"ddp", "DDP: neither tp nor pp nor ZeRO-2 or 3", kParallelKnown, 0, ddp_is_data_parallel},
      {"tied embedding", "ZeRO-2 and 3 in a pipeline need untied embeddings", kModelKnown | kParallelKnown, 0,
       tied_embedding_under_zero},
      {"precision", "the GPU has arithmetic of this precision", kClusterKnown | kTrainingKnown, 0,
       precision_in_hardware},
      {"algorithm", "nvls needs NVLink SHARP in the nodes", kClusterKnown | kPolicyKnown, 0,
       algorithm_in_hardware},
      {"recompute_every", "recompute_every belongs to full recomputation", kTrainingKnown, 0,
       recompute_every_needs_full},
      {"recompute_layers", "recompute_layers belongs to full recomputation, and stages have as many",
       kTrainingKnown | kStagesKnown, 0, recompute_layers_exist},
      {"recompute_every range", "recompute_every is at most the number of layers",
       kTrainingKnown | kModelKnown, 0, recompute_every_within_model},
      {"graphs", "CUDA graphs hold no work or wait of the host", kTrainingKnown | kPolicyKnown, 0, graphs_hold_no_host},
      {"graphs of frameworks", "DeepSpeed, FSDP and Megatron's recomputation exclude CUDA graphs",
       kWorldKnown | kTrainingKnown | kPolicyKnown, 0, graphs_of_framework},
      {"offload", "an offloaded optimizer is Adam", kTrainingKnown | kPolicyKnown, 0,
       offload_optimizer_exists},
  };
  return rules;
}

}  // namespace orrery::scenarios
