// The network between machines as a formula: which leaf and pod a machine hangs under, and how much of a machine's NIC
// bandwidth a traffic pattern can use.
//
// Share of an uplink. Above a leaf there is 1 / oversubscription of the capacity below it. A group has m machines in a
// leaf (or pod); its fair share of the uplink is m x B / oversubscription, with B the NIC bandwidth that it uses on a
// machine: the machine's other groups are taken to do the same thing at the same time, as data-parallel groups do. When
// the pattern sends c machine-to-machine streams of rate R out of the leaf, R <= m B / (oversubscription c). A ring over
// machines in order leaves each leaf once; one that alternates between leaves crosses at every step.
// Cost: O(streams).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "hardware/cluster.h"

namespace orrery::sim {

std::int64_t leaf_of(const hardware::Fabric& fabric, std::int64_t node);
std::int64_t pod_of(const hardware::Fabric& fabric, std::int64_t node);

// Streams between machines, as pairs of positions in `nodes`.
using Streams = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The rate one stream can have, as a multiple of B; infinity where no uplink limits it.
double stream_limit(const hardware::Fabric& fabric, const std::vector<std::int64_t>& nodes, const Streams& streams);

// The same for an exchange of every machine with every other: the rate at which one machine can send to all others.
double exchange_limit(const hardware::Fabric& fabric, const std::vector<std::int64_t>& nodes);

// Names of the switches that a message from one machine's NIC to another's passes, in order.
std::vector<std::string> switches_between(const hardware::Fabric& fabric, std::int64_t from_node, int from_nic,
                                          std::int64_t to_node, int to_nic);

}  // namespace orrery::sim
