// Interleaved 1F1B (Narayanan et al. 2021, section 2.2): each rank holds v chunks; forwards go through the chunks in
// groups of p microbatches, backwards through the chunks in reverse; the warm-up is 2 (p - s - 1) + (v - 1) p forwards.
// Bubble (p - 1) / (v m + p - 1). Where m is no multiple of p the last group is smaller (Megatron-LM refuses that; its
// newer releases and PyTorch order it like this).
#include <algorithm>

#include "schedule/pipeline_order.h"

namespace orrery::schedule {
namespace {

// (chunk, microbatch) in the order in which forwards visit them; with `reversed`, in which backwards do.
std::vector<Action> visits(const PipelineShape& shape, bool backward) {
  std::vector<Action> list;
  list.reserve(static_cast<std::size_t>(shape.microbatches * shape.chunks));
  for (std::int64_t group = 0; group < shape.microbatches; group += shape.stages)
    for (std::int64_t c = 0; c < shape.chunks; ++c)
      for (std::int64_t i = group; i < std::min(group + shape.stages, shape.microbatches); ++i)
        list.push_back({.backward = backward,
                        .chunk = static_cast<std::uint32_t>(backward ? shape.chunks - 1 - c : c),
                        .microbatch = static_cast<std::uint32_t>(i)});
  return list;
}

}  // namespace

std::vector<Action> interleaved_order(const PipelineShape& shape, std::int64_t stage) {
  const std::vector<Action> forwards = visits(shape, false), backwards = visits(shape, true);
  const std::int64_t total = shape.microbatches * shape.chunks;
  const std::int64_t ahead = 2 * (shape.stages - stage - 1) + (shape.chunks - 1) * shape.stages;
  const auto warm_up = static_cast<std::size_t>(
      shape.microbatches <= shape.stages ? total : std::min(total, ahead));
  std::vector<Action> order(forwards.begin(), forwards.begin() + static_cast<std::ptrdiff_t>(warm_up));
  for (std::size_t i = warm_up; i < forwards.size(); ++i) {
    order.push_back(forwards[i]);
    order.push_back(backwards[i - warm_up]);
  }
  order.insert(order.end(), backwards.begin() + static_cast<std::ptrdiff_t>(forwards.size() - warm_up),
               backwards.end());
  return order;
}

}  // namespace orrery::schedule
