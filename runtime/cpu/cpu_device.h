// The CPU as a Device: memory from the operating system, kernels of kernels/cpu. One for each rank. It also keeps what an
// optimizer with a scaled loss must remember between steps.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kernels/cpu/loss/loss_scaler.h"
#include "runtime/cpu/cpu_job.h"
#include "runtime/executor/device.h"

namespace orrery::runtime {

// How far the optimizer has come; part of a checkpoint.
struct OptimizerProgress {
  std::int64_t optimizer_steps = 0;  // steps that updated
  kernels::LossScaler scaler;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(const CpuJob& job) : job_(job) {}
  std::byte* allocate(std::int64_t bytes, const std::function<void()>& moved) override;
  std::int64_t element_bytes(schedule::DataType type) const override;
  double perform(const OpCall& call) override;

  const OptimizerProgress& progress() const { return progress_; }
  void resume(const OptimizerProgress& progress);

 private:
  struct Unmap {
    std::int64_t bytes = 0;
    void operator()(std::byte* memory) const;
  };
  // The first optimizer op of a step decides for all of them.
  void begin_optimizer_step(const OpCall& call);

  CpuJob job_;
  std::vector<std::unique_ptr<std::byte, Unmap>> memory_;
  OptimizerProgress progress_;
  std::int64_t decided_step_ = -1;
  bool skips_ = false;
  double scale_of_gradients_ = 1.0;        // under which this step's gradients were made
  std::atomic<double> loss_scale_{1.0};    // of the next backward
};

}  // namespace orrery::runtime
