// A Bell for ranks that are threads: a counter, and a futex under it (std::atomic::wait), so that a lane that waits
// sleeps. ring() is one atomic increment and one load where nobody waits.
//
// Nothing is lost: a waiter announces itself before it looks at the counter, a ringer counts before it looks for
// waiters, all sequentially consistent; so one of them sees the other.
#pragma once

#include <atomic>

#include "runtime/comm/communicator.h"

namespace orrery::runtime {

class ThreadBell final : public Bell {
 public:
  std::uint64_t heard() const override { return count_.load(); }

  void ring() override {
    count_.fetch_add(1);
    if (waiters_.load() > 0) count_.notify_all();
  }

  void wait(std::uint64_t heard) override {
    waiters_.fetch_add(1);
    count_.wait(static_cast<std::uint32_t>(heard));
    waiters_.fetch_sub(1);
  }

 private:
  std::atomic<std::uint32_t> count_{0};  // 32 bits are what a futex waits on; it may wrap around
  std::atomic<std::uint32_t> waiters_{0};
};

}  // namespace orrery::runtime
