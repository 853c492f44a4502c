#include "runtime/comm/mpi_bell.h"

#include <chrono>
#include <thread>

#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace orrery::runtime {
namespace {

constexpr int kYields = 50, kShortSleeps = 500;  // then the long ones
constexpr std::chrono::microseconds kShort{20}, kLong{50};

// The kernel may prolong a sleep by the thread's timer slack, by default 50 us.
void ask_for_precise_sleeps() {
#ifdef __linux__
  thread_local const bool kAsked = prctl(PR_SET_TIMERSLACK, 1'000UL, 0, 0, 0) == 0;  // ns
  static_cast<void>(kAsked);
#endif
}

}  // namespace

void MpiBell::ring() {
  stir();
  count_.fetch_add(1);
  if (sleepers_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  rung_.notify_all();
}

void MpiBell::wait(std::uint64_t heard) {
  if (count_.load() != heard) return;
  const int quiet = quiet_.load(std::memory_order_relaxed);
  if (quiet <= kYields + kShortSleeps) quiet_.store(quiet + 1, std::memory_order_relaxed);
  if (quiet < kYields) {
    std::this_thread::yield();
    return;
  }
  ask_for_precise_sleeps();
  std::unique_lock lock(mutex_);
  sleepers_.fetch_add(1);
  rung_.wait_for(lock, quiet < kYields + kShortSleeps ? kShort : kLong, [&] { return count_.load() != heard; });
  sleepers_.fetch_sub(1);
}

}  // namespace orrery::runtime
