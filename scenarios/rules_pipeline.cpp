// Which pipeline schedule goes with which plan: microbatches, messages, what data-parallel ranks shard.
#include <algorithm>

#include <fmt/format.h>

#include "scenarios/divisors.h"
#include "scenarios/rules.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

void interleaving_in_megatron(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t m = d.scenario.training.microbatches;
  if (d.scenario.framework != Framework::megatron || p.schedule != PipelineSchedule::interleaved ||
      m % p.pp == 0)
    return;
  const std::int64_t each = d.scenario.training.micro_batch * p.dp;
  std::vector<std::int64_t> batches;
  for (const std::int64_t legal : nearest_multiples(m, p.pp)) batches.push_back(legal * each);
  diagnostics.error(
      d.at("training.global_batch"),
      fmt::format(
          "Megatron's interleaved schedule needs microbatches in multiples of pp={}, but there are {}", p.pp,
          m),
      fmt::format("use global_batch {} ({} microbatches), or the 1f1b schedule", alternatives(batches),
                  alternatives(nearest_multiples(m, p.pp))));
}

// torch.distributed.pipelining (ScheduleInterleaved1F1B): the microbatches run in max(1, m / pp) rounds of equal size.
bool runs_in_equal_rounds(std::int64_t m, std::int64_t pp) { return m > 0 && m % std::max<std::int64_t>(1, m / pp) == 0; }

void interleaving_in_pytorch(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t m = d.scenario.training.microbatches, each = d.scenario.training.micro_batch * p.dp;
  if (d.scenario.framework != Framework::fsdp || p.schedule != PipelineSchedule::interleaved ||
      runs_in_equal_rounds(m, p.pp))
    return;
  std::int64_t fewer = m - 1, more = m + 1;
  while (!runs_in_equal_rounds(fewer, p.pp)) --fewer;
  while (!runs_in_equal_rounds(more, p.pp)) ++more;
  diagnostics.error(d.at("training.global_batch"),
                    fmt::format("PyTorch's interleaved schedule runs its microbatches in m / pp = {} rounds of equal size, but "
                                "there are {}",
                                std::max<std::int64_t>(1, m / p.pp), m),
                    fmt::format("use global_batch {} ({} microbatches), or the 1f1b schedule",
                                alternatives({fewer * each, more * each}), alternatives({fewer, more})));
}

// schedule/compile/point_to_point.cpp: without overlap a stage exchanges messages with both neighbours at fixed points, and
// groups of microbatches that are no multiple of the stages make the points of two stages wait for each other.
void blocking_interleaving(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t m = d.scenario.training.microbatches;
  if (d.scenario.framework == Framework::megatron || p.schedule != PipelineSchedule::interleaved || m <= p.pp ||
      m % p.pp == 0 || d.scenario.overlap.pipeline)
    return;
  diagnostics.error(
      d.at("overlap.pipeline"),
      fmt::format("without overlapped messages the interleaved schedule can deadlock unless the microbatches are a multiple "
                  "of pp={}; there are {}",
                  p.pp, m),
      fmt::format("set overlap.pipeline to true, or use {} microbatches", alternatives(nearest_multiples(m, p.pp))));
}

// schedule/compile/point_to_point.cpp: at exchange points both sides wait for each other.
void schedule_sends_aside(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (!traits(p.schedule).sends_aside || p.pp == 1 || d.scenario.overlap.pipeline) return;
  const Framework f = d.scenario.framework;
  if (f == Framework::megatron || f == Framework::deepspeed) return;  // have no such schedule, which is said elsewhere
  diagnostics.error(d.at("overlap.pipeline"),
                    fmt::format("the {} schedule goes on computing while its messages are on their way, so they cannot be on "
                                "the compute stream",
                                word(p.schedule)),
                    "set overlap.pipeline to true, or use the 1f1b schedule");
}

void split_backward_keeps_gradients(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (!traits(p.schedule).splits_backward || p.zero < 2 || p.replicas() == 1) return;
  diagnostics.error(d.at("parallel.zero"),
                    fmt::format("ZeRO-{} gives a layer's whole gradients away behind each backward, but the {} schedule "
                                "has weight gradients of several microbatches yet to come",
                                p.zero, word(p.schedule)),
                    "use zero 0 or 1, or the 1f1b schedule");
}

void limit_of_the_automatic_schedule(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (p.in_flight == 0 || p.schedule == PipelineSchedule::zero_bubble_auto) return;
  diagnostics.error(d.at("parallel.in_flight"),
                    fmt::format("in_flight limits the zb-auto schedule; how many microbatches {} has in flight follows from its order",
                                word(p.schedule)),
                    "set schedule to \"zb-auto\", or leave in_flight out");
}

// The order has a beginning, a middle and an end; without all of them it is another order.
void enough_microbatches(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t m = d.scenario.training.microbatches, least = traits(p.schedule).microbatches_per_rank * p.pp;
  if (m >= least) return;
  diagnostics.error(d.at("training.global_batch"),
                    fmt::format("the {} schedule needs {} microbatches or more (2 pp), but there are {}",
                                word(p.schedule), least, m),
                    fmt::format("use global_batch {} or more, or the zb-v or 1f1b schedule",
                                least * d.scenario.training.micro_batch * p.dp));
}

void two_streams(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t m = d.scenario.training.microbatches;
  if (traits(p.schedule).placement != PlacementKind::mirrored) return;
  if (p.pp % 2 != 0)
    diagnostics.error(d.at("parallel.pp"),
                      fmt::format("the {} schedule runs two streams through mirrored halves of the pipeline, so pp={} "
                                  "cannot be odd",
                                  word(p.schedule), p.pp),
                      p.pp == 1 ? "use pp 2, or the 1f1b schedule"
                                : fmt::format("use pp {}, or the dualpipe-v schedule", alternatives({p.pp - 1, p.pp + 1})));
  if (m % 2 != 0)
    diagnostics.error(d.at("training.global_batch"),
                      fmt::format("the {} schedule sends half of the microbatches each way, but there are {}",
                                  word(p.schedule), m),
                      fmt::format("use global_batch {}", alternatives({(m - 1) * d.scenario.training.micro_batch * p.dp,
                                                                       (m + 1) * d.scenario.training.micro_batch * p.dp})));
}

// Megatron-Core: "cannot defer embedding wgrad compute when pipeline model parallel is not used".
void deferral_has_a_drain(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (d.scenario.overlap.deferred_microbatches == 0) return;
  const Place place = d.at("overlap.defer_embedding_gradients");
  if (p.pp == 1)
    diagnostics.error(place, "there is no pipeline whose drain could hide the weight gradients of the output layer",
                      "leave it out, or use pp 2 or more");
  else if (traits(p.schedule).splits_backward)
    diagnostics.error(place, fmt::format("the {} schedule places all weight gradients itself", word(p.schedule)),
                      "leave it out, or use the 1f1b or interleaved schedule");
  else if (p.zero >= 2 && p.replicas() > 1)
    diagnostics.error(place,
                      fmt::format("ZeRO-{} gives the output layer's whole gradient away behind each backward, and here it would "
                                  "be complete only behind the last",
                                  p.zero),
                      "leave it out, or use zero 0 or 1");
}

void deferral_of_framework(Draft& d, Diagnostics& diagnostics) {
  const Framework f = d.scenario.framework;
  if (d.scenario.overlap.deferred_microbatches == 0 || f == Framework::megatron || f == Framework::orrery) return;
  diagnostics.error(d.at("overlap.defer_embedding_gradients"),
                    fmt::format("deferred weight gradients of the output layer are Megatron's; {} computes them in the backward",
                                word(f)),
                    "leave it out, or use framework \"megatron\"");
}

}  // namespace

const std::vector<Rule>& pipeline_rules() {
  static const std::vector<Rule> rules = {
      {"megatron interleaving", "Megatron: interleaved microbatches are a multiple of pp",
       kBatchKnown | kStagesKnown, 0, interleaving_in_megatron},
      {"pytorch interleaving", "PyTorch: interleaved microbatches run in equal rounds", kBatchKnown | kStagesKnown, 0,
       interleaving_in_pytorch},
      {"blocking interleaving", "interleaved microbatches that are no multiple of pp need overlapped messages",
       kBatchKnown | kStagesKnown | kPolicyKnown, 0, blocking_interleaving},
      {"messages aside", "schedules that split the backward, or run chunk after chunk, need overlapped messages",
       kStagesKnown | kPolicyKnown, 0, schedule_sends_aside},
      {"split backward gradients", "schedules that split the backward exclude ZeRO-2 and 3",
       kStagesKnown | kDpKnown, 0, split_backward_keeps_gradients},
      {"in flight", "in_flight belongs to zb-auto", kStagesKnown, 0, limit_of_the_automatic_schedule},
      {"deferral", "deferred embedding gradients need a pipeline's drain, whole backwards and whole gradients",
       kStagesKnown | kPolicyKnown | kDpKnown, 0, deferral_has_a_drain},
      {"deferral of frameworks", "Megatron alone defers embedding gradients", kPolicyKnown, 0, deferral_of_framework},
      {"dual microbatches", "dualpipe and dualpipe-v need 2 pp microbatches or more", kBatchKnown | kStagesKnown, 0,
       enough_microbatches},
      {"two streams", "dualpipe needs an even pp and an even number of microbatches", kBatchKnown | kStagesKnown, 0,
       two_streams},
  };
  return rules;
}

}  // namespace orrery::scenarios
