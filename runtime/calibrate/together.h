// Threads that measure at once and meet at a barrier: all of them run, or those that could be started end and the caller
// is told. A machine or container with a limit on threads must not end a calibration by std::terminate.
#pragma once

#include <cstddef>
#include <functional>

namespace orrery::runtime {

// Runs body(0) ... body(count - 1), each on a thread of its own, and returns when all have ended. Where a thread cannot be started, calls
// missing() on this thread once for every body that will not run (so that it leaves the barrier in its stead and tells the others), waits for
// the others, and throws WorldError. Bodies let no exception out.
void run_together(std::size_t count, const std::function<void(std::size_t)>& body,
                  const std::function<void()>& missing);

}  // namespace orrery::runtime
