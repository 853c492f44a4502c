#include "sim/metrics/block_runs.h"

#include "base/check.h"

namespace orrery::sim {

std::vector<std::int64_t> block_runs(const schedule::Program& program) {
  std::vector<std::int64_t> of_call(program.calls.size(), 1);
  for (const schedule::Repeat& repeat : program.repeats)
    for (std::uint32_t c = 0; c < repeat.call_count; ++c) of_call[repeat.first_call + c] = repeat.count;
  std::vector<std::int64_t> runs(program.blocks.size(), 0);
  for (std::size_t c = 0; c < of_call.size(); ++c) runs[program.calls[c].block.index()] += of_call[c];
  return runs;
}

std::int64_t ranks_of_a_program(const schedule::Schedule& schedule) {
  const auto programs = static_cast<std::int64_t>(schedule.programs.size());
  CHECK(programs > 0 && schedule.world % programs == 0, programs, schedule.world);
  return schedule.world / programs;
}

std::int64_t representative(const schedule::Schedule& schedule, std::size_t program) {
  return schedule.program_group.member(0, static_cast<std::int64_t>(program));
}

}  // namespace orrery::sim
