// The analytic KernelCost: every op of a program to one of the kernel models beside this file, with the
// constants that were fitted for the cluster's GPU type. Pure: the same op gives the same time. About 1 us,
// no allocation.
#pragma once

#include <memory>
#include <optional>

#include "hardware/cluster.h"
#include "sim/cost/kernel_cost.h"

namespace orrery::sim {

// The fitted class of a kernel; none for communication, copies, host work and waits.
std::optional<hardware::KernelClass> kernel_class(schedule::OpKind kind);

// `precision`: one that the GPU has a peak for (scenarios refuse others). `pinned`: host buffers of copies
// are page-locked.
std::unique_ptr<KernelCost> make_analytic_cost(const hardware::Cluster& cluster,
                                               hardware::Precision precision, bool pinned = true);

}  // namespace orrery::sim
