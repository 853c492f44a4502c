#include "hardware/kernel_fit_reader.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/data_root.h"
#include "base/object_reader.h"

namespace orrery::hardware {
namespace {

struct Shipped {
  const char* path;
  const char* gpu;           // whose measurements they are
  const char* architecture;
  double watts_per_tflops;   // power limit over dense fp16 peak
};
constexpr std::array<Shipped, 6> kShipped = {{
    {"hardware/profiles/v100-sxm2.json", "V100-SXM2-16GB", "volta", 300.0 / 125.0},
    {"hardware/profiles/a100-sxm4-80gb.json", "A100-SXM4-80GB", "ampere", 400.0 / 312.0},
    {"hardware/profiles/a100-pcie-80gb.json", "A100-PCIe-80GB", "ampere", 300.0 / 312.0},
    {"hardware/profiles/l40s.json", "L40S", "ada", 350.0 / 362.0},
    {"hardware/profiles/h100-sxm5-80gb.json", "H100-SXM5-80GB", "hopper", 700.0 / 989.4},
    {"hardware/profiles/b200-sxm.json", "B200-SXM", "blackwell", 1000.0 / 2250.0},
}};
constexpr double kOtherArchitecture = 0.5;  // as far as a power ratio of e^0.5

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

NearestProfile nearest_profile(const Gpu& gpu) {
  for (const Shipped& own : kShipped)
    if (own.gpu == gpu.name) return {own.path, own.gpu, true};
  const FlopRate half = std::max(gpu.peak(Precision::fp16), gpu.peak(Precision::bf16));
  const double tflops = std::max(half, gpu.peak(Precision::fp32)).value() * 1e-12;
  const auto distance = [&](const Shipped& s) {
    return std::abs(std::log(gpu.power_watts / tflops / s.watts_per_tflops)) +
           (s.architecture == gpu.architecture ? 0.0 : kOtherArchitecture);
  };
  const auto nearer = [&](const Shipped& a, const Shipped& b) { return distance(a) < distance(b); };
  const Shipped& best = *std::min_element(kShipped.begin(), kShipped.end(), nearer);
  return {best.path, best.gpu, false};
}

void read_kernel_profile(const Json* named, Diagnostics& diagnostics, Gpu& gpu) {
  if (named != nullptr) {
    const std::string path = named->is_string() ? find_file(named->string, named->place.source.get()) : "";
    if (path.empty())
      diagnostics.error(named->place, "profile names no file that exists",
                        "a path such as hardware/profiles/l40s.json");
    else
      read_kernel_fits(read_json(path), diagnostics, gpu.fits);
    return;
  }
  if (diagnostics.has_errors()) return;  // the numbers that choose a relative may be among them
  const NearestProfile nearest = nearest_profile(gpu);
  const std::string path = find_file(nearest.path, nullptr);
  if (path.empty()) throw WorldError("missing data file " + nearest.path + "; set ORRERY_DATA to the data directory");
  read_kernel_fits(read_json(path), diagnostics, gpu.fits);
  if (!nearest.own) gpu.fits = transferred(gpu.fits, nearest.gpu);
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
