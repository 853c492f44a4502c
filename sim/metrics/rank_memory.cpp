// Sources: PyTorch c10/cuda/CUDACachingAllocator.cpp (kMinLargeAlloc 10 MiB, kRoundLarge 2 MiB); context and
// communicator bytes are the cluster's, measured by users (hardware/clusters/*.json).
#include "sim/metrics/rank_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/check.h"
#include "sim/metrics/block_runs.h"

namespace orrery::sim {
namespace {

using schedule::BufferKind;

constexpr std::int64_t kMinLargeBytes = 10 << 20;
constexpr std::int64_t kLargeStep = 2 << 20;

std::vector<FixedMemory> fixed_lines(const schedule::Schedule& schedule, const hardware::Cluster& cluster,
                                     const StageResult& stage, const schedule::Program& program) {
  const std::int64_t count = communicators(schedule, stage.representative);
  const bool arena = cluster.gpu.kind == hardware::DeviceKind::cpu;  // one piece of memory, no segments
  return {
      {"context", cluster.context_bytes, "the driver's context and loaded kernels, of the cluster file"},
      {"communicators", cluster.communicator_bytes * count,
       fmt::format("{} NCCL communicators of {} MiB, of the cluster file", count,
                   cluster.communicator_bytes.count() >> 20)},
      {"segment rounding", arena ? Bytes() : segment_rounding(program, stage.memory),
       "blocks of 10 MiB and more come from the driver in steps of 2 MiB (PyTorch)"},
  };
}

std::int64_t node_of(std::int64_t rank, const hardware::Cluster& cluster, std::int64_t gpus_per_node) {
  return cluster.placement == hardware::Placement::packed ? rank / gpus_per_node : rank % cluster.nodes;
}

}  // namespace

std::int64_t communicators(const schedule::Schedule& schedule, std::int64_t rank) {
  const schedule::Program& program = schedule.program_of(rank);
  std::set<std::tuple<std::int64_t, std::int64_t, std::int64_t, bool>>
      sets;  // first member, distance, size, 2nd pipe
  const std::uint8_t backward = schedule::find_group(schedule, "pipe_backward");
  for_each_distinct_op(program, [&](const schedule::Op& op, std::int64_t) {
    if (!schedule::is_communication(op.kind) || op.group == schedule::kNoGroup) return;
    const schedule::Group& group = schedule.groups[op.group];
    if (group.size > 1 && group.contains(rank))
      sets.insert(
          {group.first(rank), group.step * group.stride, group.size, op.group == backward});
  });
  return static_cast<std::int64_t>(sets.size());
}

Bytes segment_rounding(const schedule::Program& program, const schedule::MemoryPeak& peak) {
  std::map<std::string, std::int64_t> bytes_of_instance;
  for (const schedule::Buffer& buffer : program.buffers)
    bytes_of_instance[buffer.name] = std::max(bytes_of_instance[buffer.name], buffer.bytes().count());
  std::int64_t lost = 0;
  for (const schedule::MemoryPeak::Item& item : peak.items) {
    const std::int64_t bytes = bytes_of_instance[item.buffer];
    if (bytes < kMinLargeBytes) continue;
    lost += item.bytes.count() / bytes * ((kLargeStep - bytes % kLargeStep) % kLargeStep);
  }
  return Bytes(lost);
}

std::vector<StageResult> stage_memory(const schedule::Schedule& schedule, const hardware::Cluster& cluster) {
  std::vector<StageResult> stages;
  for (std::size_t p = 0; p < schedule.programs.size(); ++p) {
    StageResult stage;
    stage.name = schedule.programs[p].name;
    stage.representative = representative(schedule, p);
    stage.ranks = ranks_of_a_program(schedule);
    stage.memory = schedule::memory_peak(schedule.programs[p]);
    stage.fixed = fixed_lines(schedule, cluster, stage, schedule.programs[p]);
    stage.total = stage.memory.peak;
    for (const FixedMemory& line : stage.fixed) stage.total += line.bytes;
    stages.push_back(std::move(stage));
  }
  return stages;
}

Bytes host_bytes_of_worst_node(const schedule::Schedule& schedule, const std::vector<StageResult>& stages,
                               const hardware::Cluster& cluster) {
  std::int64_t largest = 0;
  for (const StageResult& stage : stages) largest = std::max(largest, stage.memory.host_peak.count());
  if (largest == 0) return Bytes();
  const std::int64_t nodes = std::max<std::int64_t>(cluster.nodes, 1);
  const std::int64_t gpus = std::max<std::int64_t>(cluster.node.gpus, 1);
  std::vector<std::int64_t> of_node(static_cast<std::size_t>(nodes), 0);
  for (std::int64_t rank = 0; rank < schedule.world; ++rank) {
    const std::int64_t node = node_of(rank, cluster, gpus);
    CHECK(node >= 0 && node < nodes, rank, node, nodes);
    of_node[static_cast<std::size_t>(node)] +=
        stages[static_cast<std::size_t>(schedule.program_group.index(rank))].memory.host_peak.count();
  }
  return Bytes(*std::max_element(of_node.begin(), of_node.end()));
}

Verdict verdict_of(Bytes used, Bytes capacity) {
  if (used > capacity) return Verdict::does_not_fit;
  return used.count() > capacity.count() / 100 * 95 ? Verdict::risky : Verdict::fits;
}

Interval memory_interval(const StageResult& stage) {
  constexpr double kFixedSpread = 0.2;     // contexts of 0.5 to 1 GiB, communicators of 340 to 390 MiB
  constexpr double kFragmentation = 0.15;  // of what is allocated and freed within the step
  const auto of = [&](BufferKind kind) {
    return static_cast<double>(stage.memory.by_kind[static_cast<std::size_t>(kind)].count());
  };
  const double moving = of(BufferKind::activation) + of(BufferKind::workspace);
  const auto peak = static_cast<double>(stage.memory.peak.count()),
             total = static_cast<double>(stage.total.count());
  return {total, peak + (1.0 - kFixedSpread) * (total - peak),
          total + kFixedSpread * (total - peak) + kFragmentation * moving};
}

}  // namespace orrery::sim
