// What DeepSpeed refuses at start: its configuration checks (deepspeed/runtime/config.py, zero/config.py),
// the engine's assertions (engine.py, pipe/engine.py), and what its documentation says does not go together.
#include <fmt/format.h>

#include "scenarios/divisors.h"
#include "scenarios/rules.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

bool deepspeed(const Draft& d) { return d.scenario.framework == Framework::deepspeed; }

void offload_needs_zero(Draft& d, Diagnostics& diagnostics) {
  if (!deepspeed(d) || d.scenario.offload.optimizer == OffloadTarget::none || d.scenario.parallel.zero > 0)
    return;
  diagnostics.error(d.at("offload.optimizer"),
                    "offload_optimizer is a part of DeepSpeed's ZeRO (stages 1, 2 and 3), but zero is 0",
                    "use zero 1, 2 or 3, or offload nothing");
}

void gather_is_not_overlapped(Draft& d, Diagnostics& diagnostics) {
  const int zero = d.scenario.parallel.zero;
  if (!deepspeed(d) || !d.scenario.overlap.parameter_gather || zero == 0 || zero == 3) return;
  diagnostics.error(
      d.at("overlap.parameter_gather"),
      fmt::format("DeepSpeed's ZeRO-{} gathers the updated weights inside the optimizer's step", zero),
      "set parameter_gather to false, or use framework \"megatron\" with zero 1");
}

void no_messages_beside(Draft& d, Diagnostics& diagnostics) {
  if (!deepspeed(d) || !d.scenario.overlap.pipeline || d.scenario.parallel.pp == 1) return;
  diagnostics.error(
      d.at("overlap.pipeline"),
      "DeepSpeed's pipeline engine waits for every message before it goes on with its instructions",
      "set pipeline to false, or use framework \"megatron\" or \"orrery\"");
}

void no_sequence_parallelism(Draft& d, Diagnostics& diagnostics) {
  if (!deepspeed(d) || !d.scenario.parallel.sequence_parallel || d.scenario.parallel.zero != 3) return;
  diagnostics.error(d.at("parallel.sp"),
                    "Megatron-DeepSpeed's sequence parallelism leaves gradients of norms to be summed by "
                    "Megatron's optimizer, "
                    "which ZeRO-3 replaces",
                    "set sp to false, or zero to 0 or 1");
}

void untested_optimizer(Draft& d, Diagnostics& diagnostics) {
  const Optimizer o = d.scenario.training.optimizer;
  if (!deepspeed(d) || d.scenario.parallel.zero == 0 || o == Optimizer::adam) return;
  diagnostics.warning(
      d.at("training.optimizer"),
      fmt::format("DeepSpeed runs {} under ZeRO only with zero_allow_untested_optimizer", word(o)),
      "adamw is what its ZeRO is tested with");
}

void one_bucket(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if (!deepspeed(d) || s.parallel.zero == 0 || s.parallel.dp == 1 || s.overlap.bucket_elements > 0) return;
  diagnostics.error(d.at("overlap.bucket_elements"),
                    "DeepSpeed's ZeRO collects gradients in buffers of reduce_bucket_size elements: there is "
                    "no \"one bucket\"",
                    "use 500000000, its default, or another size");
}

void no_resident_weights(Draft& d, Diagnostics& diagnostics) {
  const Sharding& s = d.scenario.sharding;
  if (!deepspeed(d) || d.scenario.parallel.zero != 3 || (s.reshard_after_forward && s.reshard_after_backward))
    return;
  const char* path =
      s.reshard_after_forward ? "sharding.reshard_after_backward" : "sharding.reshard_after_forward";
  diagnostics.error(d.at(path),
                    "DeepSpeed's ZeRO-3 gives every parameter back behind its use, unless a limit of live "
                    "parameters lets it stay",
                    "set it to true, and sharding.max_live_elements to as many as may stay");
}

void limits_in_elements(Draft& d, Diagnostics& diagnostics) {
  const Sharding& s = d.scenario.sharding;
  if (!deepspeed(d) || d.scenario.parallel.zero != 3 || (!s.limit_on_host && s.unit_layers == 1)) return;
  diagnostics.error(d.at(s.limit_on_host ? "sharding.limit_all_gathers" : "sharding.unit_layers"),
                    "DeepSpeed gathers parameter by parameter up to its prefetch bucket; it has neither "
                    "wrapped units nor a limit "
                    "on the host",
                    "set overlap.prefetch_units instead");
}

}  // namespace

const std::vector<Rule>& deepspeed_rules() {
  constexpr std::uint32_t kPlan = kParallelKnown | kPolicyKnown;
  static const std::vector<Rule> rules = {
      {"deepspeed offload", "DeepSpeed: an offloaded optimizer needs ZeRO", kPlan, 0, offload_needs_zero},
      {"deepspeed gather", "DeepSpeed: ZeRO-1 and 2 gather weights in the optimizer's step", kPlan, 0,
       gather_is_not_overlapped},
      {"deepspeed messages", "DeepSpeed: the pipeline engine waits for its messages", kPlan, 0,
       no_messages_beside},
      {"deepspeed sp", "DeepSpeed: ZeRO-3 excludes Megatron's sequence parallelism", kParallelKnown, 0,
       no_sequence_parallelism},
      {"deepspeed optimizer", "DeepSpeed: optimizers other than Adam are untested under ZeRO",
       kPlan | kTrainingKnown, 0, untested_optimizer},
      {"deepspeed bucket", "DeepSpeed: ZeRO needs a bucket size", kPlan | kWorldKnown, 0, one_bucket},
      {"deepspeed resident", "DeepSpeed: ZeRO-3 gives weights back behind their use", kPlan, 0,
       no_resident_weights},
      {"deepspeed units", "DeepSpeed: no wrapped units, no limit on the host", kPlan, 0, limits_in_elements},
  };
  return rules;
}

}  // namespace orrery::scenarios
