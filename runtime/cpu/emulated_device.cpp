#include "runtime/cpu/emulated_device.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/diagnostics.h"

namespace orrery::runtime {

EmulatedDevice::EmulatedDevice(const schedule::Trace& trace, std::int64_t rank, const StopSign& stop)
    : stop_(stop) {
  const std::int64_t whose =
      trace.representative.empty() ? rank : trace.representative[static_cast<std::size_t>(rank)];
  const auto found = std::find_if(trace.ranks.begin(), trace.ranks.end(),
                                  [&](const schedule::RankTrace& r) { return r.rank == whose; });
  if (found == trace.ranks.end() || found->records.empty())
    throw InputError(fmt::format("error: the trace to emulate has nothing of rank {}\n  hint: make it with `orrery run "
                                 "SCENARIO --emulated-stretch FACTOR --save-trace FILE`\n", rank));
  for (const schedule::TraceRecord& r : found->records) {
    if (r.step != found->records.front().step) break;
    if (r.op >= duration_ns_.size()) duration_ns_.resize(r.op + 1, 0);
    duration_ns_[r.op] = r.end_ns - r.begin_ns;
  }
}

// Messages move real bytes, so the memory is real; nobody writes meaningful numbers into it.
std::byte* EmulatedDevice::allocate(std::int64_t bytes) {
  memory_.push_back(std::make_unique<std::byte[]>(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))));
  return memory_.back().get();
}

double EmulatedDevice::perform(const OpCall& call) {
  using Clock = std::chrono::steady_clock;
  thread_local const int punctual = ::prctl(PR_SET_TIMERSLACK, 1000UL);  // 1 us, not 50; without it only later
  static_cast<void>(punctual);
  const std::int64_t duration = call.id < duration_ns_.size() ? duration_ns_[call.id] : 0;
  const Clock::time_point end = Clock::now() + std::chrono::nanoseconds(duration);
  constexpr auto kPart = std::chrono::milliseconds(200);
  while (Clock::now() + kPart < end && !stop_.failed()) std::this_thread::sleep_for(kPart);
  if (!stop_.failed()) std::this_thread::sleep_until(end);
  return 0.0;
}

}  // namespace orrery::runtime
