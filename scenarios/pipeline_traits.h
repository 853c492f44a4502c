// What each pipeline schedule asks of a plan. The orders themselves are in schedule/compile/order_*.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

namespace orrery::scenarios {

enum class PipelineSchedule : std::uint8_t {
  gpipe,
  one_f_one_b,
  interleaved,
  breadth_first,
  zero_bubble_h1,
  zero_bubble_h2,
  zero_bubble_1p,
  zero_bubble_2p,
  zero_bubble_auto,
  zero_bubble_v,
  dual_pipe,
  dual_pipe_v,
};
inline constexpr std::size_t kPipelineSchedules = 12;

// Where the chunks of a rank are in the model: schedule/compile/placement.h.
enum class PlacementKind : std::uint8_t { loop, vee, mirrored };

enum class Chunks : std::uint8_t { one, two, several };  // virtual stages a rank (vpp)

struct PipelineTraits {
  Chunks chunks = Chunks::one;
  PlacementKind placement = PlacementKind::loop;
  bool splits_backward = false;  // input and weight gradients are separate actions, with other microbatches' between them
  // Values wait for their receiver while both sides compute, so messages need streams of their own.
  bool sends_aside = false;
  std::int64_t microbatches_per_rank = 0;  // at least this times pp
};

const PipelineTraits& traits(PipelineSchedule schedule);

}  // namespace orrery::scenarios
