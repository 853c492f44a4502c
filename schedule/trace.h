// The Trace: when each op of each rank was ready, began and ended, in one run of a Schedule. The simulator
// and the runtime both write it, so prediction against measurement is a join on (rank, step, op id), and both
// show in one Perfetto file.
//
// Times are nanoseconds from the start of the first kept step on the run's common clock.
//   ready: the op's own side could start: its stream had come to it and what it waits for had happened
//   begin: all its sides were ready (for an op without other sides: it was started)
//   end:   it ended
// So begin - ready is waiting for others, never communication; end - begin is kernel or transfer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"

namespace orrery::schedule {

struct Schedule;

enum class TraceOrigin : std::uint8_t { simulated, measured, emulated };

struct TraceRecord {
  std::int32_t step = 0;  // of the run; steps before Trace::first_step are not kept
  std::uint32_t op = 0;   // op id: position in the rank's host issue order
  std::int64_t ready_ns = 0, begin_ns = 0, end_ns = 0;
  bool operator==(const TraceRecord&) const = default;
};

struct RankTrace {
  std::int64_t rank = 0;
  std::vector<TraceRecord> records{};  // by step, then op
  std::int64_t peak_live_bytes = 0;    // as schedule/memory.h counts them; measured: as they were allocated
  std::int64_t peak_host_bytes = 0;
  std::int64_t arena_bytes = 0;  // what the runtime's arena took; simulated: 0
  bool operator==(const RankTrace&) const = default;
};

struct Trace {
  TraceOrigin origin = TraceOrigin::simulated;
  std::string scenario{};  // name
  std::string scenario_path{};
  std::string machine{};  // where it ran: CPU, cores, whether ranks are threads; simulated: the cluster
  std::uint64_t fingerprint = 0;  // of the Schedule (fingerprint() below)
  std::int64_t world = 0;
  std::int32_t first_step = 0, steps = 0;  // kept: first_step .. first_step + steps - 1
  std::vector<double> losses{};            // of every step of the run, the first where it began; simulated: none
  std::vector<RankTrace> ranks{};          // simulated and folded: representatives; see `representative`
  std::vector<std::int64_t>
      representative{};  // of each rank: whose records are its own; empty: every rank is there
  bool complete = true;  // false: the run was stopped; what was measured until then is here
  bool operator==(const Trace&) const = default;
};

// A hash of everything that both machines rest on: the text form of the schedule.
std::uint64_t fingerprint(const Schedule& schedule);

}  // namespace orrery::schedule
