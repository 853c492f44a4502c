// The order in which a rank of the pipeline computes: a list of forwards and backwards of (chunk, microbatch).
// Builders append compute order only, one schedule per file; everything else (messages, gathers, reductions) is
// added by passes. docs/adding-a-schedule.md walks through adding one.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/scenario.h"
#include "schedule/compile/placement.h"

namespace orrery::schedule {

enum class ActionKind : std::uint8_t {
  forward,
  backward,         // the whole of it, as autograd runs it
  backward_input,   // B: the gradient of the chunk's input, which the stage before waits for
  backward_weight,  // W: what is left, the weight-gradient GEMMs, which nobody waits for (Qi et al. 2023)
};

// F&B: a whole backward and, as the next action, another chunk's forward, as one block.
enum class Joined : std::uint8_t { no, begins, ends };

struct Action {
  ActionKind kind = ActionKind::forward;
  std::uint32_t chunk = 0;
  std::uint32_t microbatch = 0;
  Joined joined = Joined::no;
  bool operator==(const Action&) const = default;
};
inline bool is_forward(const Action& a) { return a.kind == ActionKind::forward; }
// Its chunk then has the gradient that the stage before waits for.
inline bool gives_gradient(const Action& a) {
  return a.kind == ActionKind::backward || a.kind == ActionKind::backward_input;
}
// The microbatch's weight gradients of its chunk are then complete, and its activations gone.
inline bool completes(const Action& a) {
  return a.kind == ActionKind::backward || a.kind == ActionKind::backward_weight;
}

// Of one microbatch on a rank, in any unit.
struct StageTimes {
  std::int64_t forward = 0, input = 0, weight = 0;
};

struct PipelineShape {
  std::int64_t stages = 1, chunks = 1, microbatches = 1;  // ranks of the pipeline; chunks of each
  std::int64_t in_flight = 0;                             // microbatches on a rank at most; 0: as the schedule has it
  std::vector<StageTimes> times{};                        // by rank, for schedules that are made to measure
};
using Order = std::vector<Action>;

// All forwards, then all backwards (Huang et al. 2019).
Order gpipe_order(const PipelineShape& shape, std::int64_t rank);
// One forward, one backward in turn after min(m, p - rank - 1) warm-up forwards (Narayanan et al. 2021, section 2.2).
Order one_f_one_b_order(const PipelineShape& shape, std::int64_t rank);
// The same over chunks (Narayanan et al. 2021, section 2.2, "interleaved").
Order interleaved_order(const PipelineShape& shape, std::int64_t rank);
// Chunk after chunk, each with all microbatches (Lamy-Poirier 2023).
Order breadth_first_order(const PipelineShape& shape, std::int64_t rank);
// Backwards in two parts (Qi et al. 2023, section 2): H1 in the memory of 1F1B, H2 in twice that without a bubble.
Order zero_bubble_h1_order(const PipelineShape& shape, std::int64_t rank);
Order zero_bubble_h2_order(const PipelineShape& shape, std::int64_t rank);
// The same on chunks placed in a V (section 6): no bubble in the memory of 1F1B.
Order zero_bubble_v_order(const PipelineShape& shape, std::int64_t rank);
// Two streams of microbatches in opposite directions (DeepSeek-V3 report 2024, section 3.2.1), and its half.
Order dual_pipe_order(const PipelineShape& shape, std::int64_t rank);
Order dual_pipe_v_order(const PipelineShape& shape, std::int64_t rank);

// ZB-1p, ZB-2p, zb-auto (section 3): made for the ranks' times, within a limit of microbatches in flight.
std::vector<Order> zero_bubble_auto_orders(const PipelineShape& shape);

// The order of every rank. One table lists all schedules.
std::vector<Order> pipeline_orders(scenarios::PipelineSchedule schedule, const PipelineShape& shape);

// Microbatches between the oldest one that some backward still needs and the newest one a forward has begun, at
// most: how many instances of an activation a stage keeps.
std::uint32_t microbatches_in_flight(const Order& order);

}  // namespace orrery::schedule
