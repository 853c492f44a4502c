// A Bell for ranks that are processes. MPI rings nobody, so a lane that waits must come back and look: it yields its
// core for the first times, then sleeps for 20 us, and for 50 us once nothing has happened for long. ring() by another
// lane ends the sleep. Looking costs a few us; so a waiting rank takes under a tenth of a core.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "runtime/comm/communicator.h"

namespace orrery::runtime {

class MpiBell final : public Bell {
 public:
  std::uint64_t heard() const override { return count_.load(); }
  void ring() override;
  void wait(std::uint64_t heard) override;
  // The transport has seen something move: it is worth looking again soon.
  void stir() { quiet_.store(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<int> quiet_{0};  // waits since something moved
  std::mutex mutex_;
  std::condition_variable rung_;
};

}  // namespace orrery::runtime
