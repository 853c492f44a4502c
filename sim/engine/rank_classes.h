// Which ranks behave alike. Ranks of one class have, at every instant, the same things running, so one of
// them is simulated for all.
//
// Partition refinement (as in colour refinement of graphs, Paige & Tarjan 1987) over ranks, meetings and
// resources:
//   rank      by program, speed of its GPU, rows that its experts get, the colours of its meetings (by relation and side), the colours
//   of the resources that
//             it loads (by how it loads them)
//   meeting   by its plans and the multiset of its members' colours (sender and receiver apart)
//   resource  by the multiset of (rank's colour, how that rank loads it)
// until the number of colours stands still. "How" includes what all members of the rank's meeting load
// together on that resource, so two ranks of one group behind one NIC differ from two ranks of two groups.
// Equal colours then have equal futures: all rules of the engine read only what the colours were made of.
// Colours are 64-bit hashes.
//
// Cost: rounds x ranks x (relations + resources of a rank); a symmetric cluster needs one round.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "hardware/cluster.h"
#include "sim/engine/plans.h"

namespace orrery::sim::engine {

// Who loads a resource: CSR from resource to ranks, and back.
struct ResourceUse {
  std::vector<std::uint32_t> first_of_rank;                      // [rank + 1]
  std::vector<std::pair<std::uint32_t, std::uint64_t>> of_rank;  // (resource, how)
  std::vector<std::uint32_t> first_of_resource;                  // [resource + 1]
  std::vector<std::uint32_t> of_resource;                        // ranks
};
ResourceUse find_resource_use(const schedule::Schedule& schedule, const Messages& messages,
                              const PlanTable& plans, const NetworkModel& network);
ResourceUse no_resource_use(const schedule::Schedule& schedule);

struct RankClasses {
  std::vector<std::uint32_t> class_of;       // [rank]
  std::vector<std::int64_t> representative;  // [class]: its lowest rank
  std::vector<std::int64_t> size;            // [class]
  std::vector<std::vector<std::uint64_t>>
      meeting;                          // [relation][instance]: equal where the meetings are alike
  std::vector<std::uint64_t> resource;  // [resource]: equal where the resources are alike
};
RankClasses classify_ranks(const schedule::Schedule& schedule, const hardware::Cluster& cluster,
                           const Messages& messages, const PlanTable& plans, const ResourceUse& use);

// Every rank, meeting and resource for itself.
RankClasses all_apart(const schedule::Schedule& schedule, const Messages& messages, std::uint32_t resources);

}  // namespace orrery::sim::engine
