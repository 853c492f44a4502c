// How many layers each virtual stage gets where the stages are to be balanced: the cut of the model into contiguous
// stages whose dearest is cheapest, and of those the most even.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "scenarios/draft.h"

namespace orrery::scenarios {

// The cost of stage `stage` with so many layers.
using StageCost = std::function<double(std::int64_t stage, std::int64_t layers)>;

// Dynamic programming over contiguous cuts: the best cut of the first l layers into the first v stages ends with one of
// l last stages. Every stage but the first and the last has a layer at least. Cost: stages x layers^2.
std::vector<std::int64_t> cheapest_cut(std::int64_t layers, std::int64_t stages, const StageCost& cost);

StageCost time_cost(const Draft& draft);    // forward FLOPs of the layers and, on the last stage, of the head
StageCost memory_cost(const Draft& draft);  // states, and activations of the microbatches in flight, in bytes

}  // namespace orrery::scenarios
