#include "tests/runtime/run/plan_outcome.h"

#include <cmath>
#include <limits>
#include <mutex>

#include "base/check.h"
#include "kernels/float_types.h"
#include "runtime/run/thread_run.h"
#include "schedule/compile.h"

namespace orrery::runtime {
namespace {

double element_at(const std::byte* memory, Element type, std::int64_t i) {
  switch (type) {
    case Element::fp64: return reinterpret_cast<const double*>(memory)[i];
    case Element::fp32: return static_cast<double>(reinterpret_cast<const float*>(memory)[i]);
    case Element::bf16: return static_cast<double>(static_cast<float>(reinterpret_cast<const kernels::bf16*>(memory)[i]));
    case Element::fp16: return static_cast<double>(static_cast<float>(reinterpret_cast<const kernels::fp16*>(memory)[i]));
    case Element::int32:
    case Element::byte: break;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

void take(const StateLayout& layout, StateMemory& memory, StateKind kind, GlobalTensors& tensors) {
  for (const StateRun& run : layout.runs) {
    if (run.kind != kind || !run.owned) continue;
    const StateTensor& tensor = layout.tensors[run.tensor];
    std::vector<double>& values = tensors[tensor.name];
    values.resize(static_cast<std::size_t>(tensor.rows * tensor.columns), std::numeric_limits<double>::quiet_NaN());
    const std::byte* const from = memory.address(run.buffer);
    for (std::int64_t i = 0; i < run.count(); ++i)
      values[static_cast<std::size_t>((run.row + i / run.columns) * tensor.columns + run.column + i % run.columns)] =
          element_at(from, memory.element(run.buffer.buffer), run.offset + i);
  }
}

}  // namespace

PlanOutcome perform(const scenarios::Scenario& scenario, const RunOptions& options) {
  const schedule::Schedule schedule = schedule::compile(scenario);
  const auto tokens = pattern_tokens(schedule.model.vocab, schedule.hyper.seed);
  const RunJob job{&schedule, tokens.get(), schedule::fingerprint(schedule), options, "test"};
  PlanOutcome outcome;
  std::mutex mutex;
  const auto hooks = [&](int) {
    RankHooks h;
    h.inspect = [&](const Executor&, StateMemory& memory, const StateLayout& layout) {
      const std::lock_guard lock(mutex);
      take(layout, memory, StateKind::weight, outcome.weights);
      take(layout, memory, StateKind::master, outcome.weights);  // where there are any, they are the weights
      take(layout, memory, StateKind::gradient, outcome.gradients);
    };
    return h;
  };
  StopSign stop;
  RunResult result = run_as_threads(job, stop, {.no_progress_s = 20.0}, hooks, [](const std::string& message, const RunResult&) {
    throw InternalError(message);
  });
  if (result.error) std::rethrow_exception(result.error);
  outcome.losses = result.trace.losses;
  outcome.trace = std::move(result.trace);
  return outcome;
}

Distance distance(const std::vector<double>& a, const std::vector<double>& b) {
  Distance d{.elements = b.size()};
  if (a.size() != b.size()) return {std::numeric_limits<double>::infinity(), 0.0, b.size()};
  for (std::size_t i = 0; i < b.size(); ++i) {
    d.off += (a[i] - b[i]) * (a[i] - b[i]);
    d.size += b[i] * b[i];
  }
  return {std::sqrt(d.off), std::sqrt(d.size), b.size()};
}

}  // namespace orrery::runtime
