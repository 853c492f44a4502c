// CPU time of this thread: what other processes take from it does not count.
#pragma once

#include <ctime>

namespace orrery::kernels::bench {

inline double thread_seconds() {
  timespec t = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace orrery::kernels::bench
