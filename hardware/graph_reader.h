// Reads the explicit graph of a cluster file (docs/reference/cluster.md, "graph"): named vertices and full-duplex links.
#pragma once

#include "base/diagnostics.h"
#include "base/json.h"
#include "hardware/cluster.h"

namespace orrery::hardware {

// Fills graph, nodes, node.gpus and the transport of `cluster`. Every machine must have the same number of GPUs, and
// every GPU must reach every other.
void read_graph(const Json& json, Diagnostics& diagnostics, Cluster& cluster);

}  // namespace orrery::hardware
