// Time of host work and of copies between host and device. No microbenchmark of ours stands behind these;
// each constant names its source, and the interval is wide.
//
//   copy      = 10 us + bytes / (PCIe usable / GPUs of one PCIe switch)        pinned memory
//               All GPUs of a machine copy at once, as the ranks of a data-parallel group do when the
//               optimizer is on the host, and those of one switch share its one uplink to the host.
//             + bytes / 12 GB/s                                                pageable: staged through a
//             pinned
//               buffer by one core, at a core's copy rate (CUDA C++ Best Practices Guide, "Pinned Memory")
//   CPU Adam  = bytes / (host memory bandwidth / GPUs of the node * 0.5)
//               Half of the bandwidth: 1e9 parameters, 28 B each, take 0.22 s on a DGX-2's two CPUs with 256
//               GB/s (Ren et al. 2021, ZeRO-Offload, table of CPU-Adam latencies). All GPUs of a node update
//               at once.
#pragma once

#include "hardware/cluster.h"

namespace orrery::sim {

struct HostDevice {
  double pcie = 0.0;          // B/s, one direction, of one GPU when all of its switch copy
  double memory_share = 0.0;  // B/s of host memory bandwidth for one GPU's process
};

HostDevice host_device(const hardware::Cluster& cluster);

double copy_seconds(double bytes, const HostDevice& host, bool pinned);
double cpu_adam_seconds(double bytes, const HostDevice& host);

// ln interval of both: +-25 %.
inline constexpr double kHostLogSpread = 0.25;

}  // namespace orrery::sim
