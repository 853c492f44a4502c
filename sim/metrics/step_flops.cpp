#include "sim/metrics/step_flops.h"

#include "schedule/kernel_work.h"
#include "sim/metrics/block_runs.h"

namespace orrery::sim {
namespace {

using schedule::OpKind;

// The fused kernel skips the upper half of a causal square; its definition has all of it.
double recomputed_flops(const schedule::KernelWork& work, const schedule::Op& op,
                        const schedule::KernelShape& shape, double square_share) {
  if (op.kind == OpKind::gemm || op.kind == OpKind::grouped_gemm) return work.flops.value();
  const double full =
      op.kind == OpKind::attention_forward && shape.causal ? 2.0 * work.flops.value() : work.flops.value();
  return full * square_share;
}

}  // namespace

StepFlops step_flops(const schedule::Schedule& schedule, bool causal) {
  const double square_share = causal ? 0.5 : 1.0;
  const auto ranks = static_cast<double>(ranks_of_a_program(schedule));
  StepFlops sum;
  for (const schedule::Program& program : schedule.programs) {
    for_each_distinct_op(program, [&](const schedule::Op& op, std::int64_t runs) {
      const schedule::KernelShape& shape = schedule.shapes[op.shape];
      const schedule::KernelWork work = schedule::work_of(program, op, shape);
      const double times = ranks * static_cast<double>(runs);
      const double model = work.model_flops.value() - (1.0 - square_share) * work.square.value();
      sum.model += times * model;
      sum.hardware += times * model;
      if (op.phase == schedule::Phase::recompute)
        sum.hardware += times * recomputed_flops(work, op, shape, square_share);
    });
  }
  return sum;
}

}  // namespace orrery::sim
