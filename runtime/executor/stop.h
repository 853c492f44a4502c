// Ends all lanes of a process: a stop that was asked for, or an error of one of them. The first reason is kept.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <vector>

#include "runtime/comm/communicator.h"

namespace orrery::runtime {

// Thrown in a lane that has to leave because of somebody else's error.
struct Stopped : std::exception {
  const char* what() const noexcept override { return "stopped"; }
};

class StopSign {
 public:
  void add_bell(Bell& bell) {
    const std::lock_guard lock(mutex_);
    bells_.push_back(&bell);
  }
  void fail(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    failed_.store(true, std::memory_order_release);
    for (Bell* bell : bells_) bell->ring();
  }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  std::exception_ptr error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }

  // A request to end after a step that all ranks agree on, and at the second time, at once; for signal handlers. `hurried`:
  // whoever asks may not wait so long.
  void ask(bool hurried = false) {
    asked_.fetch_add(1, std::memory_order_relaxed);
    if (hurried) hurried_.store(true, std::memory_order_relaxed);
  }
  bool hurried() const { return hurried_.load(std::memory_order_relaxed); }
  int asked() const { return asked_.load(std::memory_order_relaxed); }

 private:
  mutable std::mutex mutex_;
  std::vector<Bell*> bells_;
  std::exception_ptr error_;
  std::atomic<bool> failed_{false}, hurried_{false};
  std::atomic<int> asked_{0};
};

}  // namespace orrery::runtime
