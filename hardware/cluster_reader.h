// Readers of hardware files (docs/reference/gpu.md, docs/reference/cluster.md). A cluster names its GPU type by path
// or inline; paths are tried relative to the file that names them, then to the data root (see data_root).
#pragma once

#include <string>

#include "base/diagnostics.h"
#include "base/json.h"
#include "hardware/cluster.h"

namespace orrery::hardware {

Gpu read_gpu(const Json& json, Diagnostics& diagnostics);
Gpu read_data_sheet(const Json& json, Diagnostics& diagnostics);  // the same without kernel fits
Cluster read_cluster(const Json& json, Diagnostics& diagnostics);

}  // namespace orrery::hardware
