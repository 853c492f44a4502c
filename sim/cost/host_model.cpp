#include "sim/cost/host_model.h"

namespace orrery::sim {
namespace {
constexpr double kCopySeconds = 10e-6;       // start of a DMA transfer, seen from its stream
constexpr double kStagingRate = 12e9;        // B/s, one core's memcpy
constexpr double kCpuAdamShare = 0.5;        // of host memory bandwidth
}  // namespace

HostDevice host_device(const hardware::Cluster& cluster) {
  return {cluster.gpu.pcie_usable.value(),
          cluster.node.host_memory_bandwidth.value() / static_cast<double>(cluster.node.gpus)};
}

double copy_seconds(double bytes, const HostDevice& host, bool pinned) {
  return kCopySeconds + bytes / host.pcie + (pinned ? 0.0 : bytes / kStagingRate);
}

double cpu_adam_seconds(double bytes, const HostDevice& host) {
  return bytes / (host.memory_share * kCpuAdamShare);
}

}  // namespace orrery::sim
