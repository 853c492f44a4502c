// The memory of each distinct program: live bytes of its schedule, and what lies outside of it, line by line
// (docs/models/memory.md). Verdict: fits, risky above 95 % of the capacity, does not fit above 100 %.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "hardware/cluster.h"
#include "scenarios/scenario.h"
#include "schedule/ir.h"
#include "sim/metrics/result.h"

namespace orrery::sim {

// Names, ranks, memory and fixed lines of every program; waterfalls are left empty.
std::vector<StageResult> stage_memory(const schedule::Schedule& schedule, const hardware::Cluster& cluster);

// NCCL communicators: groups of more than one member that the rank's ops use, equal sets of members counted
// once, but for the second pipe group, which exists to have a communicator of its own.
std::int64_t communicators(const schedule::Schedule& schedule, std::int64_t rank);

// What a caching allocator loses because it asks the driver for large blocks in steps of 2 MiB.
Bytes segment_rounding(const schedule::Program& program, const schedule::MemoryPeak& peak);

// Host bytes of the node that needs most.
Bytes host_bytes_of_worst_node(const schedule::Schedule& schedule, const std::vector<StageResult>& stages,
                               const hardware::Cluster& cluster);

Verdict verdict_of(Bytes used, Bytes capacity);

// 80 % interval of a program's bytes (docs/models/confidence.md).
Interval memory_interval(const StageResult& stage);

}  // namespace orrery::sim
