// The GPU types that ship, for tests that hold on each.
#pragma once

#include <string>
#include <vector>

#include "hardware/cluster_reader.h"
#include "sim/cost/kernel_device.h"

namespace orrery::sim {

inline hardware::Gpu gpu_named(const std::string& file) {
  Diagnostics diagnostics;
  const hardware::Gpu gpu = hardware::read_gpu(read_json("hardware/gpus/" + file + ".json"), diagnostics);
  diagnostics.throw_if_errors();
  return gpu;
}

inline std::vector<hardware::Gpu> shipped_gpus() {
  std::vector<hardware::Gpu> gpus;
  for (const char* file : {"a100-pcie-40gb", "a100-pcie-80gb", "a100-sxm4-40gb", "a100-sxm4-80gb", "b200-sxm",
                           "h100-pcie-80gb", "h100-sxm5-80gb", "h200-sxm", "l40s", "rtx-4090", "v100-pcie-16gb",
                           "v100-pcie-32gb", "v100-sxm2-16gb", "v100-sxm2-32gb"})
    gpus.push_back(gpu_named(file));
  return gpus;
}

inline KernelDevice half_precision(const hardware::Gpu& gpu) {
  return kernel_device(gpu, gpu.peak(hardware::Precision::fp16));
}

}  // namespace orrery::sim
