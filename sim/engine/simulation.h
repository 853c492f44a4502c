// Gives a Schedule time. See docs/models/engine.md for the rules, and the files beside this one: rank_classes
// (which ranks are simulated once), flat_program (a program unrolled per stream, waits resolved), engine (the
// event loop), sharing (max-min fair rates), steady_state (microbatches that need not be simulated).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/units.h"
#include "hardware/cluster.h"
#include "schedule/ir.h"
#include "sim/cost/kernel_cost.h"
#include "sim/network/network_model.h"

namespace orrery::sim {

// Where an instant of a rank goes, in this order (DESIGN.md section 6, waterfall).
enum class Share : std::uint8_t {
  compute,
  exposed_tensor,
  exposed_data,
  exposed_pipe,
  exposed_context,
  exposed_expert,
  exposed_other,
  copy,
  host,
  bubble,
  wait
};
inline constexpr std::size_t kShares = 11;

struct ClassResult {
  std::int64_t representative = 0;            // rank
  std::int64_t ranks = 1;                     // how many ranks it stands for
  std::array<Duration, kShares> waterfall{};  // of one steady step; sums to the step time
  // Union of the intervals in which a transfer is active on the rank, by schedule::GroupKind.
  std::array<Duration, schedule::kGroupKinds> communication{};
  Duration communication_any;  // union over all groups
  Duration compute_alone;      // what its compute ops take undisturbed
};

// One executed op, for traces: times of the chosen step.
struct TraceRecord {
  std::int64_t rank = 0;
  std::uint32_t op = 0;             // op id: position in the rank's host issue order
  std::uint32_t call = 0;           // index into Program::calls
  std::uint32_t op_in_program = 0;  // index into Program::ops
  std::uint32_t microbatch = 0;
  std::int32_t step = 0;
  // start: when all sides were ready. ready: when its own side was; of an op without other sides, when only its issue by
  // the host was missing.
  Time ready, start, end;
};

struct SimulationOptions {
  bool fold = true;         // simulate ranks of a kind once
  bool extrapolate = true;  // skip microbatches of an exactly periodic steady state
  int steps = 2;            // simulated; the last one is reported
  bool trace = false;       // keep TraceRecords (implies no extrapolation)
  int traced_steps = 1;     // of the last so many of `steps`
  bool share = true;        // transfers share endpoints, communication slows computation
  // Loops over microbatches that are not exactly periodic are simulated in full up to this many events (about
  // a second), and averaged beyond; a quarter of it may be spent on each attempt to find a period.
  std::uint64_t affordable_events = 8'000'000;
};

struct SimulationResult {
  Duration step_time;  // steady state
  std::vector<ClassResult> classes;
  std::vector<TraceRecord> trace;
  std::vector<std::int64_t> representative;  // with a trace: of each rank, whose records are its own
  std::uint64_t events = 0;                  // op starts and ends
  std::uint64_t fingerprint = 0;  // of the event stream
  std::int64_t microbatches_simulated = 0;
  bool exact = true;  // false: microbatches were skipped though the loop is not exactly periodic
  bool deadlocked = false;
  std::vector<std::string> deadlock;  // every waiting op
};

SimulationResult simulate(const schedule::Schedule& schedule, const hardware::Cluster& cluster,
                          const KernelCost& cost, const NetworkModel& network,
                          const SimulationOptions& options);

}  // namespace orrery::sim
