// What the kernel models need to know of a GPU, in SI units, so that they are pure functions of plain numbers: the
// fit program (validation/fit) and the simulator call the very same code.
#pragma once

#include <cstdint>

#include "hardware/gpu.h"

namespace orrery::sim {

struct KernelDevice {
  double peak = 0.0;           // FLOP/s, dense, of the precision in use
  double hbm = 0.0;            // B/s
  double l2 = 0.0;             // B
  double sms = 0.0;
};

inline KernelDevice kernel_device(const hardware::Gpu& gpu, FlopRate peak) {
  return {peak.value(), gpu.memory_bandwidth.value(), static_cast<double>(gpu.l2_cache.count()),
          static_cast<double>(gpu.sms)};
}

// Benchmarks time a kernel that ran alone, so its clock had not yet fallen unless it was long itself; a training step
// keeps the GPU loaded, and all its kernels run at the sustained clock.
enum class Clock : std::uint8_t { alone, sustained };

}  // namespace orrery::sim
