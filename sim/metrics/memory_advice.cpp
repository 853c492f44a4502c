// The line that is blamed is the one whose change frees most: states that alone exceed the GPU point at the
// sharding, activations at the recomputation or the micro-batch.
#include <fmt/format.h>

#include "base/quantities.h"
#include "sim/metrics/advice.h"
#include "sim/metrics/device_word.h"

namespace orrery::sim {
namespace {

using schedule::BufferKind;

Bytes of_kind(const StageResult& stage, BufferKind kind) {
  return stage.memory.by_kind[static_cast<std::size_t>(kind)];
}

Bytes states(const StageResult& stage) {
  return of_kind(stage, BufferKind::weight) + of_kind(stage, BufferKind::gradient) +
         of_kind(stage, BufferKind::optimizer);
}

// The highest ZeRO stage that is legal in this plan (scenarios/rules_framework.cpp).
int highest_zero(const scenarios::Scenario& s) {
  if (s.parallel.replicas() == 1) return s.parallel.zero;
  const bool whole_gradients = s.framework == scenarios::Framework::deepspeed || s.model.tied_embeddings;
  if (s.framework == scenarios::Framework::ddp || (s.parallel.pp > 1 && whole_gradients)) return 1;
  return 3;
}

// Weights, gradients and optimizer states of a program's units under a ZeRO stage; 2 and 3 hold the whole
// gradients and weights of the units at work besides.
Bytes states_under(const scenarios::Scenario& s, const schedule::Program& program, int zero) {
  const scenarios::Recipe& recipe = s.recipe;
  const bool on_host = s.offload.optimizer == scenarios::OffloadTarget::cpu;
  const int optimizer = on_host ? 0 : (recipe.master_weights ? 4 : 0) + recipe.optimizer_state_bytes;
  std::int64_t bytes = 0;
  for (const schedule::Unit& unit : program.units) {
    const std::int64_t shard = unit.elements / s.parallel.replicas();
    bytes += recipe.weight_bytes * (zero >= 3 ? shard : unit.elements) +
             recipe.gradient_bytes * (zero >= 2 ? shard : unit.elements) +
             optimizer * (zero >= 1 ? shard : unit.elements);
  }
  return Bytes(bytes);
}

std::string sharding_hint(const scenarios::Scenario& s, const schedule::Program& program,
                          const StageResult& stage) {
  std::string stages;
  for (int zero = s.parallel.zero + 1; zero <= highest_zero(s); ++zero)
    stages += fmt::format("{}zero {} would make them {}{}", stages.empty() ? "" : ", ", zero,
                          zero > 1 ? "about " : "", human_bytes(states_under(s, program, zero)));
  const std::string are = fmt::format("states are {} a {}", human_bytes(states(stage)), device_word(s));
  if (!stages.empty()) return fmt::format("{}; {}; or raise tp or pp", are, stages);
  const Bytes optimizer = of_kind(stage, BufferKind::optimizer);
  if (s.offload.optimizer == scenarios::OffloadTarget::none)
    return fmt::format("{}: more {}s (tp, pp{}), or offload.optimizer \"cpu\", which frees {}", are, device_word(s),
                       s.parallel.zero > 0 ? ", dp" : "", human_bytes(optimizer));
  return fmt::format("{} even with the optimizer on the host: more {}s, or a smaller model", are, device_word(s));
}

struct Blame {
  Place place;
  std::string hint;
};

Blame blame_states(const scenarios::Scenario& s, const schedule::Program& program, const StageResult& stage) {
  const bool can_shard = s.parallel.zero < highest_zero(s);
  return {can_shard ? s.origins.zero : s.origins.model, sharding_hint(s, program, stage)};
}

Blame blame_activations(const scenarios::Scenario& s, const StageResult& stage) {
  const std::string take =
      fmt::format("activations take {}", human_bytes(of_kind(stage, BufferKind::activation)));
  const bool scores = !s.kernels.fused_attention && s.training.recompute == scenarios::Recompute::none;
  if (scores)
    return {s.origins.recompute,
            take + ": recompute \"selective\" or kernels.fused_attention drops the s x s scores"};
  if (s.training.recompute != scenarios::Recompute::full)
    return {s.origins.recompute, take + ": recompute \"full\" keeps one hidden state a layer"};
  if (s.training.micro_batch > 1) return {s.origins.micro_batch, take + ": a smaller micro_batch"};
  if (s.parallel.tp > 1 && !s.parallel.sequence_parallel)
    return {s.origins.tp, take + ": sequence parallelism (\"sp\": true) divides them by tp"};
  return {s.origins.training, take + ": shorter sequences, or more tp with sequence parallelism"};
}

Blame blame(const scenarios::Scenario& s, const schedule::Program& program, const StageResult& stage) {
  return states(stage) > of_kind(stage, BufferKind::activation) ? blame_states(s, program, stage)
                                                                : blame_activations(s, stage);
}

std::string who(const StageResult& stage, const Result& result) {
  return fmt::format("rank {} ({}) needs {} of {}", stage.representative, stage.name,
                     human_bytes(stage.total), human_bytes(result.capacity));
}

void advise_host(const scenarios::Scenario& s, const Result& result, std::vector<Diagnostic>& found) {
  if (result.host_verdict == Verdict::fits) return;
  const bool over = result.host_verdict == Verdict::does_not_fit;
  found.push_back({over ? Severity::error : Severity::warning, s.origins.cluster,
                   fmt::format("{}: a node's processes hold {} in host memory, it has {}",
                               over ? "does not fit the host" : "host memory is almost full",
                               human_bytes(result.host_bytes), human_bytes(result.host_capacity)),
                   "offload less, or spread the states over more nodes"});
}

}  // namespace

std::vector<Diagnostic> memory_advice(const scenarios::Scenario& s, const schedule::Schedule& schedule,
                                      const Result& result) {
  std::vector<Diagnostic> found;
  const StageResult& stage = result.stages[result.worst_stage];
  const Blame cause = blame(s, schedule.programs[result.worst_stage], stage);
  switch (result.device_verdict) {
    case Verdict::does_not_fit:
      found.push_back(
          {Severity::error, cause.place,
           fmt::format("does not fit: {}, at its peak in {}", who(stage, result), stage.memory.block),
           cause.hint});
      break;
    case Verdict::risky:
      found.push_back({Severity::warning, cause.place,
                       fmt::format("risky: {}, more than 95 %", who(stage, result)), cause.hint});
      break;
    case Verdict::fits:
      if (result.peak_memory_bytes.high > static_cast<double>(result.capacity.count()))
        found.push_back(
            {Severity::warning, cause.place,
             fmt::format("may not fit: {}; fragmentation could exceed the rest", who(stage, result)),
             cause.hint});
      break;
  }
  advise_host(s, result, found);
  return found;
}

}  // namespace orrery::sim
