// Readers of the parts of a cluster file: the node template and the fabric (docs/reference/cluster.md).
#pragma once

#include "base/diagnostics.h"
#include "base/json.h"
#include "hardware/cluster.h"

namespace orrery::hardware {

// `graph`: an explicit graph describes GPUs, links and NICs; only the host is read here.
void read_node(const Json& json, Diagnostics& diagnostics, const Gpu& gpu, bool graph, Node& node);
void read_fabric(const Json& json, Diagnostics& diagnostics, Fabric& fabric);

}  // namespace orrery::hardware
