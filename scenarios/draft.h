// A scenario on its way from JSON to a legal Scenario: what the user wrote, what was solved so far, and where
// each value stands in the user's files. Reading, solving and checking are three files that hand it on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "scenarios/policy.h"
#include "scenarios/rank_order.h"
#include "scenarios/scenario.h"

namespace orrery::scenarios {

// What is known so far. A rule says what it needs, and is skipped where that could not be read or solved: one
// mistake gives one message.
enum Known : std::uint32_t {
  kModelKnown = 1U << 0,  // the architecture
  kClusterKnown = 1U << 1,
  kParallelKnown = 1U << 2,  // the numbers in "parallel", as written
  kTrainingKnown = 1U << 3,
  kWorldKnown = 1U << 4,   // dp, and the rank strides
  kBatchKnown = 1U << 5,   // global = micro x microbatches x dp
  kStagesKnown = 1U << 6,  // vpp, schedule, layers_of_stage
  kPolicyKnown = 1U << 7,  // overlap, kernels, recipe, ...
  kChunksKnown = 1U << 8,  // vpp and the schedule
  kDpKnown = 1U << 9,      // dp alone: stated (rightly or not), or solved
  kContextKnown = 1U << 12,  // how cp is divided
};

enum class LayerSplit : std::uint8_t { even, even_with_embedding, balanced, balanced_memory, listed };

struct Draft {
  Json json;  // bases merged; model and cluster as the user wrote them
  Scenario scenario;
  std::uint32_t known = 0;

  // As written; nothing where the file says nothing, or "auto".
  std::optional<std::int64_t> dp, vpp, layers_per_virtual_stage;
  std::optional<PipelineSchedule> schedule;
  std::optional<std::int64_t> global_batch, micro_batch, accumulation;
  LayerSplit split = LayerSplit::even;
  std::vector<std::int64_t> layers_listed;
  std::optional<std::int64_t> recompute_layers;  // of every virtual stage alike
  std::vector<std::string> order = default_rank_order();

  bool knows(std::uint32_t needs) const { return (known & needs) == needs; }
  bool written(std::string_view path) const;  // "parallel.tp": stands in the file, and is not null
  Place at(std::string_view path) const;      // its place; of the innermost object around it that is there
};

}  // namespace orrery::scenarios
