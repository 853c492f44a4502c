// The order in which a stage computes: a list of forwards and backwards of (chunk, microbatch). Builders
// append compute order only, one schedule per file; everything else (messages, gathers, reductions) is added
// by passes.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/scenario.h"

namespace orrery::schedule {

struct Action {
  bool backward = false;
  std::uint32_t chunk = 0;
  std::uint32_t microbatch = 0;
  bool operator==(const Action&) const = default;
};

struct PipelineShape {
  std::int64_t stages = 1, chunks = 1, microbatches = 1;
};

// All forwards, then all backwards (Huang et al. 2019).
std::vector<Action> gpipe_order(const PipelineShape& shape, std::int64_t stage);
// One forward, one backward in turn after min(m, p - stage - 1) warm-up forwards (Narayanan et al. 2021,
// section 2.2).
std::vector<Action> one_f_one_b_order(const PipelineShape& shape, std::int64_t stage);
// The same over chunks (Narayanan et al. 2021, section 2.2, "interleaved"); microbatches go in groups of p,
// the last group may be smaller.
std::vector<Action> interleaved_order(const PipelineShape& shape, std::int64_t stage);

std::vector<Action> pipeline_order(scenarios::PipelineSchedule schedule, const PipelineShape& shape,
                                   std::int64_t stage);

// The number of actions after which the order repeats itself with later microbatches, and how many
// microbatches later.
struct Period {
  std::size_t actions = 1;
  std::uint32_t microbatches = 1;
};
Period pipeline_period(scenarios::PipelineSchedule schedule, const PipelineShape& shape);

// Microbatches between the oldest one some backward still needs and the newest one a forward has begun, at
// most: how many instances of an activation a stage keeps.
std::uint32_t microbatches_in_flight(const std::vector<Action>& order);

}  // namespace orrery::schedule
