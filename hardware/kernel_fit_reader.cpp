#include "hardware/kernel_fit_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/object_reader.h"
#include "base/check.h"

namespace orrery::hardware {
namespace {

struct Shipped {
  const char* path;
  int compute_capability;
  double power_watts;
};
constexpr std::array<Shipped, 6> kShipped = {{
    {"hardware/profiles/v100-sxm2.json", 70, 300},
    {"hardware/profiles/a100-sxm4-80gb.json", 80, 400},
    {"hardware/profiles/a100-pcie-80gb.json", 80, 300},
    {"hardware/profiles/l40s.json", 89, 350},
    {"hardware/profiles/h100-sxm5-80gb.json", 90, 700},
    {"hardware/profiles/b200-sxm.json", 100, 1000},
}};

constexpr double kTransferWidening = 1.5;
constexpr double kTransferMinimum = 0.15;  // in ln

double fraction(ObjectReader& reader, std::string_view key) {
  return reader.number(key, {.fallback = std::nullopt, .min = 0.01, .max = 1.0});
}

void read_constants(ObjectReader& reader, KernelClass kernel_class, KernelFit& fit) {
  fit.peak_fraction = fraction(reader, "peak_fraction");
  fit.launch_us = reader.number("launch_us", {.fallback = std::nullopt, .min = 0.0, .max = 1e4});
  switch (kernel_class) {
    case KernelClass::gemm:
      fit.half_k = reader.number("half_k", {.fallback = std::nullopt, .min = 0.0, .max = 1e5});
      fit.hbm_fraction = fraction(reader, "hbm_fraction");
      fit.droop = reader.number("droop", {.fallback = std::nullopt, .min = 0.0, .max = 10.0});
      return;
    case KernelClass::attention_forward:
    case KernelClass::attention_backward:
      fit.half_k = reader.number("half_k", {.fallback = std::nullopt, .min = 0.0, .max = 1e5});
      fit.hbm_fraction = fraction(reader, "hbm_fraction");
      fit.half_sequence = reader.number("half_sequence", {.fallback = std::nullopt, .min = 0.0, .max = 1e6});
      return;
    case KernelClass::memory_bound:
      fit.reduction_fraction = fraction(reader, "reduction_fraction");
      fit.l2_speedup = reader.number("l2_speedup", {.fallback = std::nullopt, .min = 1.0, .max = 100.0});
      return;
  }
}

KernelFit read_fit(const Json& json, Diagnostics& diagnostics, KernelClass kernel_class) {
  ObjectReader reader(json, diagnostics, std::string(name(kernel_class)));
  KernelFit fit;
  read_constants(reader, kernel_class, fit);
  fit.residual_low = reader.number("residual_low", {.fallback = std::nullopt, .min = -10.0, .max = 0.0});
  fit.residual_high = reader.number("residual_high", {.fallback = std::nullopt, .min = 0.0, .max = 10.0});
  fit.measurements = reader.integer("measurements", {.fallback = std::nullopt});
  fit.source = reader.text("source", std::nullopt);
  reader.finish();
  return fit;
}

}  // namespace

std::string_view name(KernelClass kernel_class) {
  switch (kernel_class) {
    case KernelClass::gemm: return "gemm";
    case KernelClass::attention_forward: return "attention_forward";
    case KernelClass::attention_backward: return "attention_backward";
    case KernelClass::memory_bound: return "memory_bound";
  }
  return "?";
}

void read_kernel_fits(const Json& json, Diagnostics& diagnostics, KernelFits& fits) {
  ObjectReader reader(json, diagnostics, "profile");
  reader.text("gpu", std::nullopt);
  for (std::size_t c = 0; c < kKernelClasses; ++c) {
    const auto kernel_class = static_cast<KernelClass>(c);
    fits[c] = read_fit(reader.required(name(kernel_class)), diagnostics, kernel_class);
  }
  reader.finish();
}

std::string nearest_profile(const Gpu& gpu) {
  const Shipped* best = &kShipped[0];
  const auto distance = [&](const Shipped& s) {
    return std::pair(std::abs(s.compute_capability - gpu.compute_capability), std::abs(s.power_watts - gpu.power_watts));
  };
  for (const Shipped& candidate : kShipped)
    if (distance(candidate) < distance(*best)) best = &candidate;
  return best->path;
}

KernelFits transferred(const KernelFits& fits, const std::string& from) {
  KernelFits result = fits;
  for (KernelFit& fit : result) {
    fit.residual_low = std::min(fit.residual_low * kTransferWidening, -kTransferMinimum);
    fit.residual_high = std::max(fit.residual_high * kTransferWidening, kTransferMinimum);
    fit.measurements = 0;
    fit.source = "transferred from " + from + ": " + fit.source;
  }
  return result;
}

}  // namespace orrery::hardware
