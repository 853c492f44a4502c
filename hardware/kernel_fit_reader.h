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

// The shipped profile for `gpu`: its own, or that of the nearest relative, by |ln| of the ratio of watts per dense
// TFLOP/s, which decides what share of its peak a GPU can sustain, plus 0.5 where the architecture differs.
struct NearestProfile {
  std::string path;
  std::string gpu;   // whose measurements they are
  bool own = false;  // this very type
};
NearestProfile nearest_profile(const Gpu& gpu);

// Sets gpu.fits: from the profile that its file names (as it stands), else from nearest_profile (as a transfer, where
// it is another type's). `named` is the value of the file's "profile", or null.
void read_kernel_profile(const Json* named, Diagnostics& diagnostics, Gpu& gpu);

// The fits of another GPU type: no measurements, and an interval half again as wide (at least +-15 %).
KernelFits transferred(const KernelFits& fits, const std::string& from);

}  // namespace orrery::hardware
