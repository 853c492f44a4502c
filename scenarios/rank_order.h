// Which rank stands where in the grid tp x cp x dp x pp: strides from an order such as "tp-cp-ep-dp-pp" (fastest-varying
// first). Experts re-cut the tp x cp x dp ranks of a stage as etp x ep x edp, etp innermost, as Megatron-Core's parallel
// folding does (Liu et al. 2025, arXiv 2504.14960, section 3.2); "ep" in an order is accepted and decides nothing.
#pragma once

#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace orrery::scenarios {

const std::vector<std::string>& default_rank_order();  // tp, cp, dp, pp

// Sets all strides and edp; the sizes must be known and divide.
void place_ranks(Parallel& parallel, const std::vector<std::string>& order = default_rank_order());

// Whether these dimensions follow one another without another of more than one rank between them, so that their ranks
// form groups of one stride; words of the order.
bool adjacent(const Parallel& parallel, const std::vector<std::string>& order,
              const std::vector<std::string>& dimensions);

}  // namespace orrery::scenarios
