#include "runtime/calibrate/transfer_phase.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/calibrate/journal_lines.h"
#include "runtime/calibrate/probe_run.h"
#include "runtime/calibrate/probe_schedules.h"

namespace orrery::runtime {
namespace {

constexpr std::int64_t kSmallest = 64, kMostSteps = 60, kLeastVisits = 2;

// Op ids of a rank's messages, in order.
std::vector<std::uint32_t> messages_of(const StepPlan& plan) {
  std::vector<std::uint32_t> ids;
  for (std::uint32_t op = 0; op < plan.ops.size(); ++op)
    if (schedule::is_communication(plan.ops[op].op->kind)) ids.push_back(op);
  return ids;
}

// From when the last side was ready until the last one had ended, ns: as a trace says it.
std::int64_t meeting_ns(const ProbeTimes& probe, std::size_t step,
                        const std::vector<std::vector<std::uint32_t>>& messages, std::size_t message) {
  std::int64_t ready = 0, ended = 0;
  for (std::size_t rank = 0; rank < probe.times.size(); ++rank) {
    const OpTimes& t = probe.times[rank][step][messages[rank][message]];
    ready = std::max(ready, t.ready);
    ended = std::max(ended, t.ended);
  }
  return ended - ready;
}

std::string cores_name(const Exchange& e) {
  return fmt::format("cores.{}.{}", hardware::name(e.first), e.second);
}

}  // namespace

std::vector<std::int64_t> message_sizes(std::int64_t most, std::int64_t ranks) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t bytes = kSmallest; bytes <= most; bytes *= 4) {
    const std::int64_t grain = 4 * ranks, size = (bytes + grain - 1) / grain * grain;
    if (sizes.empty() || size > sizes.back()) sizes.push_back(size);
  }
  return sizes;
}

TransferVisit ProbeMeasurer::visit(const Exchange& exchange, const std::vector<std::int64_t>& bytes,
                                   double seconds) {
  const schedule::Schedule schedule = message_probe(exchange.first, exchange.second, bytes);
  const ProbeTimes probe = run_probe(schedule, seconds, kMostSteps);
  std::vector<std::vector<std::uint32_t>> messages;
  for (const StepPlan& plan : probe.plans) messages.push_back(messages_of(plan));
  TransferVisit visit;
  visit.seconds.resize(bytes.size());
  double transfers_s = 0.0, kernels_s = 0.0;
  for (std::size_t step = 0; step < probe.times.front().size(); ++step) {
    for (std::size_t m = 0; m < bytes.size(); ++m) {
      visit.seconds[m].push_back(static_cast<double>(meeting_ns(probe, step, messages, m)) * 1e-9);
      transfers_s += visit.seconds[m].back();
    }
    for (std::size_t rank = 0; rank < probe.times.size(); ++rank)
      for (std::uint32_t op = 0; op < probe.plans[rank].ops.size(); ++op)
        if (!schedule::is_communication(probe.plans[rank].ops[op].op->kind))
          kernels_s +=
              static_cast<double>(probe.times[rank][step][op].ended - probe.times[rank][step][op].started) *
              1e-9;
  }
  visit.cores =
      std::clamp((probe.cpu_s - kernels_s) / (transfers_s * static_cast<double>(exchange.second)), 0.0, 1.0);
  return visit;
}

TransferPhase::TransferPhase(std::set<Exchange> exchanges, std::int64_t most_bytes, Journal& journal)
    : exchanges_(std::move(exchanges)), most_bytes_(most_bytes), journal_(journal) {
  for (const Journal::Block& block : journal_.earlier()) take_over(block);
}

void TransferPhase::take_over(const std::vector<std::string>& block) {
  for (const std::string& line : block) {
    if (is_line(line, "transfer")) {
      const TransferLine read = read_transfer_line(line);
      for (const double seconds : read.timings.seconds)
        curves_[{read.operation, read.ranks}].points[read.bytes].add(seconds, false);
    }
    if (!is_line(line, "number")) continue;
    const NumberLine read = read_number_line(line);
    for (const Exchange& e : exchanges_)
      if (read.name == cores_name(e)) {
        curves_[e].cores_sum += read.value;
        ++curves_[e].visits;
      }
  }
}

void TransferPhase::visit(const Exchange& exchange, TransferMeasurer& measurer, double seconds) {
  const std::vector<std::int64_t> bytes = message_sizes(most_bytes_, exchange.second);
  const TransferVisit visit = measurer.visit(exchange, bytes, seconds);
  Journal::Block block;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    block.push_back(
        write_line(TransferLine{exchange.first, exchange.second, bytes[i], {visit.seconds[i], 0}}));
  block.push_back(write_line(NumberLine{cores_name(exchange), visit.cores}));
  journal_.append(block);
  take_over(block);
}

double TransferPhase::uncertainty(const Curve& curve) {
  double worst = curve.points.empty() ? 1.0 : 0.0;
  for (const auto& [bytes, samples] : curve.points) worst = std::max(worst, samples.summary().uncertainty);
  return worst;
}

void TransferPhase::run(TransferMeasurer& measurer, const TransferLimits& limits, const SecondsNow& clock,
                        const std::atomic<bool>& stop, Progress& progress) {
  const double begin = clock();
  for (std::int64_t pass = 0; pass < limits.most_passes; ++pass)
    for (const Exchange& exchange : exchanges_) {
      const double used = (clock() - begin) / limits.budget_s;
      if (stop.load() || used >= 1.0) return;
      const Curve& curve = curves_[exchange];
      const bool settled = curve.visits >= kLeastVisits && uncertainty(curve) < limits.settled;
      if (curve.visits > pass || settled) continue;
      progress.show(
          "messages", used,
          fmt::format("pass {}: {} among {}", pass + 1, hardware::name(exchange.first), exchange.second));
      visit(exchange, measurer, limits.visit_s);
    }
}

}  // namespace orrery::runtime
