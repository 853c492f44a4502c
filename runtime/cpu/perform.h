// Each kind of op to its kernel: finds the operands, their types, and what the kernel must know of the op's place in the
// model. One file for each folder of kernels. Every function returns false for kinds that are not its own.
#pragma once

#include "runtime/cpu/cpu_job.h"
#include "runtime/cpu/operands.h"

namespace orrery::runtime {

struct PerformContext {
  const CpuJob& job;
  const Operands& operands;
  Placement placement;
  double loss_scale = 1.0;
};

bool perform_linear(const PerformContext& c);
bool perform_pointwise(const PerformContext& c);
bool perform_attention(const PerformContext& c);
bool perform_experts(const PerformContext& c);
bool perform_embedding(const PerformContext& c);
bool perform_quantise(const PerformContext& c);
// `loss`: what cross_entropy_loss adds.
bool perform_loss(const PerformContext& c, double& loss);
// `optimizer_step` counts from 1; `skips`: the gradients are not finite, nothing is updated.
struct OptimizerContext {
  std::int64_t optimizer_step = 1;
  bool skips = false;
};
bool perform_optimizer(const PerformContext& c, const OptimizerContext& o);

}  // namespace orrery::runtime
