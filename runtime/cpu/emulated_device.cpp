#include "runtime/cpu/emulated_device.h"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>

#include "base/check.h"
#include "runtime/cpu/fill_in_pieces.h"
#include "runtime/machine/memory.h"

namespace orrery::runtime {

EmulatedDevice::EmulatedDevice(const schedule::Trace& trace, std::int64_t rank, const StopSign& stop)
    : stop_(stop) {
  const std::int64_t whose =
      trace.representative.empty() ? rank : trace.representative[static_cast<std::size_t>(rank)];
  const auto found = std::find_if(trace.ranks.begin(), trace.ranks.end(),
                                  [&](const schedule::RankTrace& r) { return r.rank == whose; });
  CHECK(found != trace.ranks.end() && !found->records.empty(), rank, whose);
  for (const schedule::TraceRecord& r : found->records) {
    if (r.step != found->records.front().step) break;
    CHECK(r.op == duration_ns_.size(), rank, r.op);
    duration_ns_.push_back(r.end_ns - r.begin_ns);
  }
}

// Messages move real bytes, so the memory is real; nobody writes meaningful numbers into it.
std::byte* EmulatedDevice::allocate(std::int64_t bytes, const std::function<void()>& moved) {
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1));
  try {
    memory_.push_back(std::make_unique_for_overwrite<std::byte[]>(size));
  } catch (const std::bad_alloc&) {
    throw WorldError(refused_memory(bytes, "out of memory"));
  }
  fill_in_pieces({memory_.back().get(), size}, std::byte{0}, moved);
  return memory_.back().get();
}

double EmulatedDevice::perform(const OpCall& call) {
  using Clock = std::chrono::steady_clock;
  thread_local const int punctual = ::prctl(PR_SET_TIMERSLACK, 1000UL);  // 1 us, not 50; without it only later
  static_cast<void>(punctual);
  const std::int64_t duration = duration_ns_.at(call.id);
  const Clock::time_point end = Clock::now() + std::chrono::nanoseconds(duration);
  constexpr auto kPart = std::chrono::milliseconds(200);
  while (Clock::now() + kPart < end && !stop_.failed()) std::this_thread::sleep_for(kPart);
  if (!stop_.failed()) std::this_thread::sleep_until(end);
  return 0.0;
}

}  // namespace orrery::runtime
