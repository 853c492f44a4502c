// How much a ring through given GPUs can carry: rings are laid one by one, each a Hamiltonian cycle over the members
// whose routes still have a quantum of capacity free, until none fits; several quanta are tried and the largest total
// wins. This is what NCCL's channel search does (src/graph/search.cc) with its list of speeds; here the quanta come from
// the links themselves (a link's capacity over 1, 2, 3, 4). As in NCCL, hops of the nearest kind come first: only when
// no ring exists over direct NVLinks may one pass through a GPU, then go over PCIe, then between sockets.
//
// Cost: depth-first with a budget of a few thousand steps per quantum; n! only in theory. Not used for NVSwitch nodes,
// where every ring is as good as another.
#pragma once

#include <vector>

#include "sim/network/topology.h"

namespace orrery::sim {

struct RingSet {
  int rings = 0;
  double bandwidth = 0.0;  // B/s of one ring
  bool nvlink = false;     // every hop of every ring is NVLink
  double total() const { return bandwidth * rings; }
};

// `members`: two or more different GPUs. There is always at least one ring: where the search finds none within its budget,
// the one in the order given, at the speed of its most loaded link.
RingSet search_rings(const Topology& topology, const RouteTable& routes, const std::vector<VertexIndex>& members);

}  // namespace orrery::sim
