#include "hardware/software_stack.h"

#include "base/object_reader.h"
#include "hardware/base_file.h"

namespace orrery::hardware {
namespace {

constexpr double kMostFactor = 20.0;

void read_factors(const Json& json, Diagnostics& diagnostics, SoftwareStack& stack) {
  ObjectReader r(json, diagnostics, "kernels of an architecture");
  for (std::size_t c = 0; c < kKernelClasses; ++c)
    stack.longer[c] = r.number(name(static_cast<KernelClass>(c)), {.fallback = 1.0, .min = 1.0 / kMostFactor, .max = kMostFactor});
  stack.runs = r.integer("runs", {.fallback = std::nullopt, .min = 0});
  r.finish();
}

}  // namespace

SoftwareStack read_software_stack(const Json& value, const Gpu& gpu, Diagnostics& diagnostics) {
  SoftwareStack stack;
  const Json json = resolve_base(value, diagnostics, "stack");
  if (!json.is_object()) return stack;
  ObjectReader r(json, diagnostics, "stack");
  stack.name = r.text("name", std::nullopt);
  stack.source = r.text("source", std::nullopt);
  const Json& kernels = r.required("kernels");
  r.finish();
  if (!kernels.is_object() || kernels.members.empty()) {
    diagnostics.error(kernels.place, "kernels has an object for each architecture", "{\"ampere\": {\"attention_backward\": 2.5, \"runs\": 85}}");
    return stack;
  }
  const Json* of_gpu = kernels.find(gpu.architecture);
  read_factors(of_gpu != nullptr ? *of_gpu : kernels.members.back().value, diagnostics, stack);
  return stack;
}

}  // namespace orrery::hardware
