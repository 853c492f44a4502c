#include "runtime/calibrate/lane_costs.h"

#include <utility>

#include "base/check.h"
#include "base/quantile.h"
#include "runtime/calibrate/probe_schedules.h"

namespace orrery::runtime {
namespace {

constexpr std::int64_t kOps = 400, kMostSteps = 1000;
constexpr std::int64_t kRounds = 24, kTransferBytes = std::int64_t{8} << 20;

struct Apart {
  std::vector<float> beside, apart;
};

Interference named(std::string kernel, const Apart& a) {
  return {std::move(kernel), median(a.beside), median(a.apart),
          static_cast<std::int64_t>(a.beside.size()), static_cast<std::int64_t>(a.apart.size())};
}

}  // namespace

double op_overhead_seconds(const ProbeTimes& probe) {
  std::vector<float> means;
  for (const std::vector<OpTimes>& step : probe.times.front()) {
    std::int64_t between = 0;
    for (std::size_t op = 1; op < step.size(); ++op) between += step[op].started - step[op - 1].ended;
    means.push_back(static_cast<float>(between) * 1e-9F / static_cast<float>(step.size() - 1));
  }
  return median(std::move(means));
}

double measure_op_overhead(double seconds) {
  return op_overhead_seconds(run_probe(overhead_probe(kOps), seconds, kMostSteps));
}

Interferences interference_of(const ProbeTimes& probe) {
  Apart product, addition;
  for (std::size_t rank = 0; rank < probe.times.size(); ++rank) {
    const std::vector<PlannedOp>& ops = probe.plans[rank].ops;
    for (const std::vector<OpTimes>& step : probe.times[rank])
      for (std::size_t op = 0; op < ops.size(); ++op) {
        const schedule::OpKind kind = ops[op].op->kind;
        if (kind != schedule::OpKind::gemm && kind != schedule::OpKind::add) continue;
        bool inside = false, touches = false;
        for (std::size_t other = 0; other < ops.size(); ++other) {
          if (!schedule::is_communication(ops[other].op->kind)) continue;
          inside = inside || (step[other].started <= step[op].started && step[op].ended <= step[other].ended);
          touches = touches || (step[other].started < step[op].ended && step[op].started < step[other].ended);
        }
        Apart& a = kind == schedule::OpKind::gemm ? product : addition;
        const auto seconds = static_cast<float>(step[op].ended - step[op].started) * 1e-9F;
        if (inside)
          a.beside.push_back(seconds);
        else if (!touches)
          a.apart.push_back(seconds);
      }
  }
  return {named("matrix product", product), named("addition", addition)};
}

Interferences measure_interference(std::int64_t ranks, double seconds) {
  CHECK(ranks > 1, ranks);
  return interference_of(run_probe(interference_probe(ranks, kRounds, kTransferBytes), seconds, kMostSteps));
}

}  // namespace orrery::runtime
