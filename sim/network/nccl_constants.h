// NCCL's own cost model, as data. Source: NVIDIA/nccl 2.30.7, src/graph/tuning.cc (ncclTopoTuneModel) and
// src/include/device.h: latencies in microseconds, bandwidths in GB/s (10^9 B/s), columns LL, LL128, Simple.
// `Correction` is ours: what measurement says on top, fitted once per GPU architecture (docs/models/network.md).
#pragma once

#include <array>
#include <cstdint>

#include "hardware/gpu.h"
#include "scenarios/scenario.h"

namespace orrery::sim {

inline constexpr std::size_t kProtocols = 3;  // LL, LL128, Simple
std::size_t column(scenarios::Protocol protocol);

enum class Hop : std::uint8_t { nvlink, pcie, network };

double ring_base_us(std::size_t protocol);
double tree_base_us(std::size_t protocol);
double ring_hop_us(Hop hop, std::size_t protocol);
double tree_hop_us(Hop hop, std::size_t protocol);
inline constexpr double kNvlsIntraUs = 25.0, kNvlsTreeNetworkUs = 20.9;
// Ours: see Estimate::interference. Trees between machines, middle sizes: 1.35 times the sum of both, on InfiniBand and EFA
// alike.
inline constexpr double kTreeInterference = 1.4;

// Limits of bandwidth by architecture; columns: 1 machine, 2 machines, more.
struct ArchitectureLimits {
  double ll_max;  // of one machine
  std::array<double, 3> ring_ll128, tree, tree_ll128, nvls_tree;  // per channel
};
const ArchitectureLimits& limits_of(const hardware::Gpu& gpu);
double ll_max_between_machines(const std::string& cpu_vendor, std::int64_t nodes);
std::size_t scale_column(std::int64_t nodes);

// Tree all_reduce: factor on the bandwidth by log2(bytes / 64).
double tree_factor(std::size_t protocol, double bytes);

struct NvlsLimits {
  double efficiency;
  int channels, channels_many;  // one machine, several
};
const NvlsLimits& nvls_of(const hardware::Gpu& gpu);

struct Correction {
  double latency;            // factor on base and intra-machine latencies
  double simple_extra_us;    // Simple starts later than its constant says
  double bandwidth;          // NVLink plateau / NCCL's constant
  double fill;               // part of a ring step that is not overlapped inside a machine
  double nvls;               // NVLS plateau / NCCL's formula
  double point_to_point_us;  // grouped send and receive inside a machine, at size 0
  double pair, all_to_all;   // over NVSwitch: share of the port that one pair, and all pairs, reach
};
const Correction& correction_of(const hardware::Gpu& gpu);

}  // namespace orrery::sim
