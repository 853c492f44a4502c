// FLOPs of one step, all ranks, counted from the schedule.
//
//     model FLOPs    = matrix products and attention of forward and backward; attention's s x s products in
//     full, or half
//                      of them where the scenario counts causal attention
//     hardware FLOPs = model FLOPs + the same products of recomputed ops
//
// For a compiled plan the first equals 3 x models::forward_flops x global batch, by test.
#pragma once

#include "schedule/ir.h"

namespace orrery::sim {

struct StepFlops {
  double model = 0.0, hardware = 0.0;
};
StepFlops step_flops(const schedule::Schedule& schedule, bool causal);

}  // namespace orrery::sim
