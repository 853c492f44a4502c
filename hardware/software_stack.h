// How fast the kernels of a software stack are beside the library kernels that the profiles were fitted on: a framework of a
// year brings its own attention, its own elementwise kernels, its own luck with layouts. hardware/stacks/*.json, fitted once for a
// stack and an architecture (docs/models/stacks.md, docs/reference/stack.md).
#pragma once

#include <array>
#include <string>

#include "base/diagnostics.h"
#include "base/json.h"
#include "hardware/gpu.h"

namespace orrery::hardware {

struct SoftwareStack {
  std::string name, source;
  std::array<double, kKernelClasses> longer{1.0, 1.0, 1.0, 1.0};  // times as long, by KernelClass
  std::int64_t runs = 0;                                           // that these were fitted on
};

// `value`: the path of a stack's file. Of its architectures the one of `gpu`; where it is not among them, the last one.
// Reports what is missing, out of range or unknown.
SoftwareStack read_software_stack(const Json& value, const Gpu& gpu, Diagnostics& diagnostics);

}  // namespace orrery::hardware
