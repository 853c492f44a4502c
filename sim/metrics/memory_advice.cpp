// The line that is blamed is the one whose change frees most: states that alone exceed the GPU point at the
// sharding, activations at the recomputation or the micro-batch.
#include <fmt/format.h>

#include "base/quantities.h"
#include "sim/metrics/advice.h"

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

// What the states would take with more of them sharded over dp.
std::string sharding_hint(const scenarios::Scenario& scenario, const StageResult& stage) {
  const scenarios::Parallel& p = scenario.parallel;
  const Bytes weights = of_kind(stage, BufferKind::weight), gradients = of_kind(stage, BufferKind::gradient);
  const Bytes optimizer = of_kind(stage, BufferKind::optimizer);
  const std::int64_t dp = p.dp;
  const auto shard = [&](Bytes b) { return Bytes(b.count() / dp); };
  if (dp > 1 && p.zero == 0)
    return fmt::format("states are {} a GPU; zero 1 would make them {}, zero 3 about {}",
                       human_bytes(states(stage)), human_bytes(weights + gradients + shard(optimizer)),
                       human_bytes(shard(states(stage))));
  if (dp > 1 && p.zero < 3)
    return fmt::format("states are {} a GPU; zero 3 would make them about {}; or raise tp or pp",
                       human_bytes(states(stage)), human_bytes(shard(weights + gradients) + optimizer));
  if (scenario.offload.optimizer == scenarios::OffloadTarget::none)
    return fmt::format(
        "states are {} a GPU: more GPUs (tp, pp{}), or offload.optimizer \"cpu\", which frees {}",
        human_bytes(states(stage)), p.zero > 0 ? ", dp" : "", human_bytes(optimizer));
  return fmt::format("states are {} a GPU even with the optimizer on the host: more GPUs, or a smaller model",
                     human_bytes(states(stage)));
}

struct Blame {
  Place place;
  std::string hint;
};

Blame blame_states(const scenarios::Scenario& s, const StageResult& stage) {
  const bool can_shard = s.parallel.dp > 1 && s.parallel.zero < 3;
  return {can_shard ? s.origins.zero : s.origins.model, sharding_hint(s, stage)};
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

Blame blame(const scenarios::Scenario& s, const StageResult& stage) {
  return states(stage) > of_kind(stage, BufferKind::activation) ? blame_states(s, stage)
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

std::vector<Diagnostic> memory_advice(const scenarios::Scenario& s, const Result& result) {
  std::vector<Diagnostic> found;
  const StageResult& stage = result.stages[result.worst_stage];
  const Blame cause = blame(s, stage);
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
