// A GPU type, as data (hardware/gpus/*.json): data-sheet numbers with their sources. Peaks are DENSE: never the sparse
// number that marketing prints beside them. Or what one rank of a CPU machine has: one core's peak, its part of the
// memory, and measured kernel times instead of fits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/units.h"
#include "hardware/kernel_table.h"

namespace orrery::hardware {

enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16, fp8, fp4 };
inline constexpr std::size_t kPrecisions = 6;

// Kernel classes whose efficiency is fitted once per GPU type on measurements (hardware/profiles/*.json).
enum class KernelClass : std::uint8_t { gemm, attention_forward, attention_backward, memory_bound };
inline constexpr std::size_t kKernelClasses = 4;
std::string_view name(KernelClass kernel_class);

// The fitted constants of the analytic kernel model (docs/models/kernels.md), and the residuals of the fit that
// made them, as ln(measured / predicted): the 80 % interval of one prediction is exp(low) .. exp(high). A constant
// that a class does not use stays 0.
struct KernelFit {
  double peak_fraction = 0.0;    // plateau, share of the dense peak (GEMM, attention) or of HBM bandwidth
  double half_k = 0.0;           // GEMM: the K at which half of the plateau is reached; attention: the same in head_dim
  double launch_us = 0.0;        // fixed time of a kernel, seen from the GPU
  double hbm_fraction = 0.0;     // GEMM, attention: share of HBM bandwidth that operands and results reach
  double droop = 0.0;            // GEMM: slowdown under continuous load (clock and power), relative to a short kernel
  double half_sequence = 0.0;    // attention: fixed work of a query row, in keys
  double reduction_fraction = 0.0;  // memory-bound: plateau of kernels that reduce rows or columns
  double l2_speedup = 0.0;       // memory-bound: bandwidth of what the L2 cache still holds, relative to the plateau
  double residual_low = 0.0;     // 10th percentile of the log residual, negative
  double residual_high = 0.0;    // 90th percentile
  std::int64_t measurements = 0; // how many points the fit saw; 0: transferred from another GPU
  std::string source;            // which data, or which GPU it was transferred from
};

enum class DeviceKind : std::uint8_t { gpu, cpu };

struct Gpu {
  DeviceKind kind = DeviceKind::gpu;
  std::string name;    // "A100-SXM4-80GB"
  std::string source;
  std::string architecture;      // "volta", "ampere", "ada", "hopper", "blackwell"
  int compute_capability = 0;    // 70, 80, 86, 89, 90, 100
  std::array<FlopRate, kPrecisions> dense_peak{};  // 0: not supported in hardware
  Bytes memory;                  // what the driver shows as total, before context
  Bandwidth memory_bandwidth;
  Bytes l2_cache;
  int sms = 0;
  int nvlinks = 0;               // links of one GPU; 0: none
  Bandwidth nvlink_line;         // per link, one direction, line rate
  Bandwidth nvlink_usable;       // per link, one direction, as NCCL counts it
  Bandwidth pcie_line;           // one direction, of its slot, line rate
  Bandwidth pcie_usable;
  double power_watts = 0.0;
  std::array<KernelFit, kKernelClasses> fits{};  // kind cpu: none
  std::shared_ptr<const KernelTable> kernel_table;  // measured times, which go before the fits; null: none

  FlopRate peak(Precision p) const { return dense_peak[static_cast<std::size_t>(p)]; }
  const KernelFit& fit(KernelClass c) const { return fits[static_cast<std::size_t>(c)]; }
};

}  // namespace orrery::hardware
