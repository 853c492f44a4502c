// Breadth-first (Lamy-Poirier 2023, arXiv 2211.05953, section 4): several chunks a rank; every chunk runs all of its
// microbatches before the next chunk begins, forwards through the chunks in order, then backwards in reverse. Each chunk's
// weights are wanted once and its gradients are complete early, so data-parallel traffic (their sharded weights) goes
// with the computation; all v m chunks are kept. Bubble (p - 1) / (v m + p - 1) where m is p or more: a rank's chunks
// follow one another without a gap, and only the first and the last wait for the pipeline to fill and drain.
//
// A chunk's output waits at the next rank, or at the first one, until that chunk begins; so messages need streams of
// their own.
#include "schedule/compile/action_list.h"

namespace orrery::schedule {

Order breadth_first_order(const PipelineShape& shape, std::int64_t) {
  const auto chunks = static_cast<std::uint32_t>(shape.chunks);
  ActionList a(shape.microbatches, chunks);
  for (std::uint32_t c = 0; c < chunks; ++c)
    for (std::int64_t i = 0; i < shape.microbatches; ++i) a.forward(c);
  for (std::uint32_t c = chunks; c > 0; --c)
    for (std::int64_t i = 0; i < shape.microbatches; ++i) a.whole(c - 1);
  return a.take();
}

}  // namespace orrery::schedule
