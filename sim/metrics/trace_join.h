// Two traces of one schedule joined on (rank, op id): predicted beside measured, or one run beside another.
// Each op of each rank has the median of its times over the whole steps of a trace; ops that stand at the
// same place of a block are one row, over calls, microbatches and ranks. Times are those of kernels and
// transfers (end - begin); waits, also those of the host, are apart.
//
// Cost: linear in the records.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "schedule/ir.h"
#include "schedule/trace.h"

namespace orrery::sim {

struct JoinedOp {
  std::string name{};  // "layer.forward.3"
  schedule::OpKind kind = schedule::OpKind::fill;
  std::uint8_t group = schedule::kNoGroup;        // communication only
  std::string shape{};                            // "tn 512x1024x256", "4.19 MB", "512x1024"
  std::int64_t count = 0;                         // in a step, all ranks
  double first_s = 0.0, second_s = 0.0;           // of one: the median over the steps, averaged over them
  double second_p10_s = 0.0, second_p90_s = 0.0;  // the same of the 10th and 90th percentile
  double adds_s = 0.0;                            // second - first, of all of them, for a rank and step
};

// Per rank and step.
struct JoinedKind {
  schedule::OpKind kind = schedule::OpKind::fill;
  double count = 0.0, first_s = 0.0, second_s = 0.0;
};

// Per rank and step: transfers, and until all sides were ready.
struct JoinedGroup {
  double count = 0.0, first_s = 0.0, second_s = 0.0, first_wait_s = 0.0, second_wait_s = 0.0;
};

struct TraceJoin {
  std::vector<JoinedOp> ops;      // largest |adds_s| first
  std::vector<JoinedKind> kinds;  // largest second_s first
  std::array<JoinedGroup, schedule::kGroupKinds> groups{};
};

// Both traces are of the schedule and have a whole step (schedule/trace_check.h).
TraceJoin join(const schedule::Schedule& schedule, const schedule::Trace& first,
               const schedule::Trace& second);

}  // namespace orrery::sim
