// Interleaved 1F1B (Narayanan et al. 2021, section 2.2): each rank holds v chunks; microbatches go in groups
// of g, forwards through the chunks in order, backwards in reverse, and 2 (p - s - 1) + (v - 1) g forwards
// warm up. The paper has g = p and m a multiple of p: bubble (p - 1) / (v m + p - 1). Any other m is split
// into floor(m / p) groups that differ by one at most, so every group has p or more (a smaller one would
// starve the stages behind it); g is then the largest. Up to p microbatches run all forwards first.
#include <algorithm>

#include "schedule/compile/pipeline_order.h"

namespace orrery::schedule {
namespace {

// Sizes of the groups, larger ones first.
std::vector<std::int64_t> group_sizes(const PipelineShape& shape) {
  const std::int64_t groups = std::max<std::int64_t>(1, shape.microbatches / shape.stages);
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(groups), shape.microbatches / groups);
  for (std::int64_t i = 0; i < shape.microbatches % groups; ++i) ++sizes[static_cast<std::size_t>(i)];
  return sizes;
}

// (chunk, microbatch) in the order in which forwards, or backwards, visit them.
Order visits(const PipelineShape& shape, const std::vector<std::int64_t>& sizes, ActionKind kind) {
  Order list;
  const bool backward = kind == ActionKind::backward;
  list.reserve(static_cast<std::size_t>(shape.microbatches * shape.chunks));
  std::int64_t first = 0;
  for (const std::int64_t size : sizes) {
    for (std::int64_t c = 0; c < shape.chunks; ++c)
      for (std::int64_t i = first; i < first + size; ++i)
        list.push_back({.kind = kind,
                        .chunk = static_cast<std::uint32_t>(backward ? shape.chunks - 1 - c : c),
                        .microbatch = static_cast<std::uint32_t>(i)});
    first += size;
  }
  return list;
}

}  // namespace

Order interleaved_order(const PipelineShape& shape, std::int64_t stage) {
  const std::vector<std::int64_t> sizes = group_sizes(shape);
  const Order forwards = visits(shape, sizes, ActionKind::forward),
              backwards = visits(shape, sizes, ActionKind::backward);
  const std::int64_t total = shape.microbatches * shape.chunks;
  const std::int64_t ahead = 2 * (shape.stages - stage - 1) + (shape.chunks - 1) * sizes.front();
  const auto warm_up =
      static_cast<std::size_t>(shape.microbatches <= shape.stages ? total : std::min(total, ahead));
  Order order(forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(warm_up));
  for (std::size_t i = warm_up; i < forwards.size(); ++i) {
    order.push_back(forwards[i]);
    order.push_back(backwards[i - warm_up]);
  }
  order.insert(order.end(), backwards.begin() + static_cast<std::ptrdiff_t>(forwards.size() - warm_up),
               backwards.end());
  return order;
}

}  // namespace orrery::schedule
