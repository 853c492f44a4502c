#include "runtime/run/run_job.h"

#include <algorithm>
#include <limits>

#include "schedule/ir.h"

namespace orrery::runtime {

std::int64_t kept_steps(const RunJob& job) {
  std::int64_t most_ops = 1;
  for (const schedule::Program& program : job.schedule->programs) {
    std::int64_t ops = 0;
    schedule::for_each_call(program, std::numeric_limits<std::uint32_t>::max(),
                            [&](const schedule::Call& call, std::uint32_t, std::uint32_t) { ops += program.block(call).op_count; });
    most_ops = std::max(most_ops, ops);
  }
  return std::max<std::int64_t>(1, job.options.most_records / job.schedule->world / most_ops);
}

}  // namespace orrery::runtime
