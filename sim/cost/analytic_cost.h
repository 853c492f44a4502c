// The analytic KernelCost: every op of a program to one of the kernel models beside this file, with the constants that
// were fitted for the cluster's GPU type. Pure: the same op gives the same time. About 1 us, no allocation.
#pragma once

#include <memory>
#include <optional>

#include "hardware/cluster.h"
#include "sim/cost/kernel_cost.h"

namespace orrery::sim {

// The fitted class of a kernel; none for communication, copies, host work and waits.
std::optional<hardware::KernelClass> kernel_class(schedule::OpKind kind);

// `pinned`: host buffers of copies are page-locked. A precision that the GPU has no peak for runs at the next one it
// has: fp8 at bf16's, bf16 (Volta) at fp16's if it has that, tf32 at fp32's.
std::unique_ptr<KernelCost> make_analytic_cost(const hardware::Cluster& cluster, hardware::Precision precision,
                                               bool pinned = true);

}  // namespace orrery::sim
