#include "sim/report/run_cost.h"

#include <sys/resource.h>

namespace orrery::sim {

void fill_run_cost(Result& result, std::chrono::steady_clock::time_point begin) {
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    result.peak_rss_bytes = std::int64_t{usage.ru_maxrss} * 1024;  // Linux: KiB
}

}  // namespace orrery::sim
