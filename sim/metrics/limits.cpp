#include "sim/metrics/limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/metrics/block_runs.h"

namespace orrery::sim {
namespace {

[[noreturn]] void refuse(const Place& place, const std::string& message, const std::string& hint) {
  Diagnostics diagnostics;
  diagnostics.error(place, message, hint);
  throw InputError(diagnostics.text());
}

double slowest_gpu(const hardware::Cluster& cluster) {
  double slowest = 1.0;
  for (const auto& [rank, speed] : cluster.slow_gpus) slowest = std::min(slowest, speed);
  return slowest;
}

double unrolled_ops(const schedule::Program& program) {
  double ops = 0.0;
  for_each_distinct_op(program,
                       [&](const schedule::Op&, std::int64_t runs) { ops += static_cast<double>(runs); });
  return ops;
}

constexpr const char* kTooSlow =
    "look for a bandwidth, latency or speed in the cluster file that is far too slow, or use a smaller "
    "global_batch";

}  // namespace

void refuse_endless_op(const scenarios::Scenario& s, const std::string& what) {
  refuse(s.origins.cluster, "an op of the step takes too long: " + what, kTooSlow);
}

void refuse_endless(const scenarios::Scenario& s, const UndisturbedTime& of) {
  double kernels = 0.0, transfers = 0.0;
  for (const Weighed& kernel : of.kernels) kernels += kernel.seconds;
  for (const Weighed& transfer : of.transfers) transfers += transfer.seconds;
  kernels /= slowest_gpu(s.cluster);
  const double host = of.copies.seconds + of.host_work.seconds + of.ops * s.cluster.host_issue_cost.seconds();
  const double seconds = kernels + transfers + host;
  if (seconds <= kMostStepSeconds) return;
  refuse(s.origins.cluster,
         fmt::format(
             "one step would take up to {:.0f} days: {:.3g} s of kernels, {:.3g} s of transfers, {:.3g} s "
             "of the host; steps of more than {:.0f} days are not simulated",
             seconds / 86'400.0, kernels, transfers, host, kMostStepSeconds / 86'400.0),
         kTooSlow);
}

void refuse_too_large(const scenarios::Scenario& s, const schedule::Schedule& schedule,
                      const SimulationOptions& options) {
  if (options.extrapolate && !options.trace) return;
  // A trace keeps a record of every op of every simulated rank; without one, ranks of a program share theirs.
  const bool every_rank = options.trace && !options.fold;
  const double copies = (every_rank ? static_cast<double>(ranks_of_a_program(schedule)) : 1.0) *
                        (options.trace ? options.traced_steps : 1);
  double ops = 0.0;
  for (const schedule::Program& program : schedule.programs) ops += copies * unrolled_ops(program);
  if (ops <= kMostUnrolledOps) return;
  refuse(s.origins.global_batch,
         fmt::format("{:.3g} ops with every microbatch{}{} unrolled: more than {:.0e} are not {}", ops,
                     every_rank ? " of every rank" : "",
                     options.trace && options.traced_steps > 1 ? fmt::format(" of {} steps", options.traced_steps) : "",
                     kMostUnrolledOps,
                     options.trace ? "traced" : "simulated in full"),
         every_rank ? "a smaller global_batch (fewer microbatches), or a trace without --full"
                    : "a smaller global_batch (fewer microbatches)");
}

}  // namespace orrery::sim
