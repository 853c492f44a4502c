// Rows of tokens on their way to experts on several machines, and back, where a token goes to each machine once: over the
// network to one rank there, and from it over NVLink to those of its experts that are on the machine; back, their rows are
// added up first. So do kernels made for it (DeepSeek-V3 report, section 3.2.2; DeepEP); an all_to_all between all
// pairs sends a token as often as it has experts.
//
//     T = latencies + max(p S d / (k exchange), S / (p pair_rate))
//
// with p members a machine, S what a member has to send in all, k rows a token, d the machines beyond its own that a token
// goes to, on average; pair_rate and exchange as for an all_to_all (point_to_point.h). Both hops overlap: rows go on as
// they come. d follows from experts that are equally popular, and chosen within the best groups where the router has such:
// of `a` things in `b` equal boxes, `c` taken at random are in b (1 - C(a - a / b, c) / C(a, c)) boxes.
#pragma once

#include "sim/network/estimate.h"
#include "sim/network/network_model.h"

namespace orrery::sim {

// Machines, out of `machines` that share the experts equally, on which a token has experts.
double machines_of_token(const TokenExchange& exchange, double machines);

Estimate by_node_estimate(const CollectiveCall& call, const TokenExchange& exchange);

}  // namespace orrery::sim
