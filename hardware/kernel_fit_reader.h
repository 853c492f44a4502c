// Reads a kernel profile (hardware/profiles/*.json, docs/reference/profile.md): one KernelFit per kernel class, as
// validation/fit wrote it. A GPU type without measurements of its own takes the profile of its nearest relative, with
// wider intervals.
#pragma once

#include <array>
#include <string>

#include "base/diagnostics.h"
#include "base/json.h"
#include "hardware/gpu.h"

namespace orrery::hardware {

using KernelFits = std::array<KernelFit, kKernelClasses>;

// Reports what is missing, out of range or unknown.
void read_kernel_fits(const Json& json, Diagnostics& diagnostics, KernelFits& fits);

// The shipped profile nearest to `gpu`: of its architecture; among those, of the nearest power limit (which sets the
// clock that a plateau is reached at). An architecture without a profile takes the nearest compute capability's.
std::string nearest_profile(const Gpu& gpu);

// The fits of another GPU type: no measurements, and an interval half again as wide (at least +-15 %).
KernelFits transferred(const KernelFits& fits, const std::string& from);

}  // namespace orrery::hardware
