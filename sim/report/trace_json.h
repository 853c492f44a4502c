// A simulated step as Chrome's trace format, which ui.perfetto.dev opens: one process a rank, one track a
// stream, an arrow for every transfer, a counter of live memory. Times in microseconds. Source: "Trace Event
// Format" (Google). Cost: linear in the records written; nothing is kept.
#pragma once

#include <iosfwd>

#include "schedule/ir.h"
#include "sim/engine/simulation.h"

namespace orrery::sim {

struct TraceJsonOptions {
  bool all_ranks = false;  // else one rank of each distinct program
};

// `simulation` was made with SimulationOptions::trace.
void write_trace_json(std::ostream& out, const schedule::Schedule& schedule,
                      const SimulationResult& simulation, const TraceJsonOptions& options = {});

}  // namespace orrery::sim
