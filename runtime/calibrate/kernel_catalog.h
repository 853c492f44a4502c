// The kernels that were met so far, each size once, with their timings: alone on the machine, and with all
// ranks running theirs at once.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/calibrate/samples.h"
#include "runtime/executor/step_plan.h"
#include "schedule/kernel_key.h"

namespace orrery::runtime {

struct TimedKernel {
  schedule::KernelKey key;
  Samples alone, busy;
};

inline constexpr std::uint32_t kNoKernel = ~std::uint32_t{0};

class KernelCatalog {
 public:
  // Which kernel each op of a program is, by its place in program.ops; kNoKernel for communication. New ones
  // are added.
  std::vector<std::uint32_t> add(const schedule::Schedule& schedule, const schedule::Program& program);
  std::uint32_t add(schedule::KernelKey key);

  TimedKernel& operator[](std::uint32_t kernel) { return kernels_[kernel]; }
  const std::vector<TimedKernel>& all() const { return kernels_; }

 private:
  using Size = std::pair<std::string, std::array<std::int64_t, schedule::kMaxKernelDims>>;
  std::map<Size, std::uint32_t> known_;
  std::vector<TimedKernel> kernels_;
};

}  // namespace orrery::runtime
