#include "scenarios/pipeline_traits.h"

#include <array>

namespace orrery::scenarios {

const PipelineTraits& traits(PipelineSchedule schedule) {
  static constexpr std::array<PipelineTraits, kPipelineSchedules> kTraits = {{
      {},                                // gpipe
      {},                                // 1f1b
      {.chunks = Chunks::several},       // interleaved
      {.chunks = Chunks::several, .sends_aside = true},  // bfs
      {.splits_backward = true, .sends_aside = true},         // zb-h1
      {.splits_backward = true, .sends_aside = true},         // zb-h2
      {.splits_backward = true, .sends_aside = true},         // zb-1p
      {.splits_backward = true, .sends_aside = true},         // zb-2p
      {.splits_backward = true, .sends_aside = true},         // zb-auto
      {.chunks = Chunks::two, .placement = PlacementKind::vee, .splits_backward = true, .sends_aside = true},  // zb-v
      {.placement = PlacementKind::mirrored, .splits_backward = true, .sends_aside = true, .microbatches_per_rank = 2},  // dualpipe
      {.chunks = Chunks::two, .placement = PlacementKind::vee, .splits_backward = true, .sends_aside = true,
       .microbatches_per_rank = 2},      // dualpipe-v
  }};
  return kTraits[static_cast<std::size_t>(schedule)];
}

}  // namespace orrery::scenarios
