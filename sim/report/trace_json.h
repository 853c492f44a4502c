// Traces in Chrome's trace format, which ui.perfetto.dev opens: one process a rank, one track a stream, an
// arrow for every transfer, a counter of live memory. Several traces of one schedule stand in one file, their
// processes side by side. Times in microseconds. Source: "Trace Event Format" (Google). Cost: linear in the
// records written.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>

#include "schedule/ir.h"
#include "schedule/trace.h"
#include "sim/engine/simulation.h"

namespace orrery::sim {

enum class WrittenRanks : std::uint8_t {
  one_of_each_program,
  of_the_trace,  // those that have records of their own
  all,           // others show the records of the rank that stands for them
};

struct WrittenTrace {
  const schedule::Trace* trace = nullptr;
  std::string word;  // "predicted", in the names of processes; may be empty
};

// The traces are of the schedule (schedule/trace_check.h).
void write_trace_json(std::ostream& out, const schedule::Schedule& schedule,
                      std::span<const WrittenTrace> traces, WrittenRanks ranks);

struct TraceJsonOptions {
  bool all_ranks = false;  // else one rank of each distinct program
};

// `simulation` was made with SimulationOptions::trace.
void write_trace_json(std::ostream& out, const schedule::Schedule& schedule,
                      const SimulationResult& simulation, const TraceJsonOptions& options = {});

}  // namespace orrery::sim
