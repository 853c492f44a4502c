// Reads a GPU type; docs/reference/gpu.md lists the fields. Kernel fits are kept apart (hardware/profiles/):
// data-sheet numbers change never, fits with every measurement.
#include <fmt/format.h>

#include "base/inherit.h"
#include "base/object_reader.h"
#include "hardware/base_file.h"
#include "hardware/cluster_reader.h"
#include "hardware/field_rules.h"
#include "hardware/kernel_fit_reader.h"

namespace orrery::hardware {
namespace {

void read_peaks(const Json& json, Diagnostics& diagnostics, Gpu& gpu) {
  static constexpr std::array<std::string_view, kPrecisions> kNames = {"fp32", "tf32", "fp16", "bf16", "fp8",
                                                                            "fp4"};
  ObjectReader reader(json, diagnostics, "dense_peak");
  for (std::size_t p = 0; p < kPrecisions; ++p)
    gpu.dense_peak[p] = reader.flop_rate(kNames[p], FlopRate(0.0));
  for (std::size_t p = 0; p < kPrecisions; ++p)
    if (gpu.dense_peak[p] > FlopRate(1e18) ||
        (gpu.dense_peak[p] > FlopRate(0.0) && gpu.dense_peak[p] < FlopRate(1e9)))
      diagnostics.error(reader.place(kNames[p]), fmt::format("{} is out of range", kNames[p]),
                        "1 GFLOP/s to 1000 PFLOP/s; leave it out where the hardware lacks it");
  if (gpu.peak(Precision::fp32) <= FlopRate(0.0))
    diagnostics.error(reader.place(), "dense_peak.fp32 is missing or zero", "every GPU computes in fp32");
  reader.finish();
}

void read_nvlink(const Json& json, Diagnostics& diagnostics, Gpu& gpu) {
  ObjectReader reader(json, diagnostics, "nvlink");
  gpu.nvlinks = static_cast<int>(reader.integer("links", {.fallback = std::nullopt, .min = 1, .max = 1000}));
  gpu.nvlink_line = read_speed(reader, "line");
  gpu.nvlink_usable = read_speed(reader, "usable");
  if (gpu.nvlink_usable > gpu.nvlink_line)
    diagnostics.error(reader.place("usable"), "usable is more than line", "at most the line rate");
  reader.finish();
}

void read_pcie(const Json& json, Diagnostics& diagnostics, Gpu& gpu) {
  ObjectReader reader(json, diagnostics, "pcie");
  gpu.pcie_line = read_speed(reader, "line");
  gpu.pcie_usable = read_speed(reader, "usable");
  if (gpu.pcie_usable > gpu.pcie_line)
    diagnostics.error(reader.place("usable"), "usable is more than line", "at most the line rate");
  reader.finish();
}

void read_measured_kernels(const Json* named, Diagnostics& diagnostics, Gpu& gpu) {
  if (named == nullptr) return;
  const Json table = object_or_file(*named, "kernel table", diagnostics);
  if (!table.is_null()) gpu.kernel_table = std::make_shared<KernelTable>(read_kernel_table(table, diagnostics));
}

// One rank's share of a CPU machine. What NCCL's model reads of a GPU stands in where no curve was measured: the links
// between ranks are as fast as memory.
void read_cpu(ObjectReader& reader, Gpu& gpu) {
  gpu.architecture = "cpu";
  gpu.compute_capability = 80;
  gpu.pcie_line = gpu.pcie_usable = gpu.memory_bandwidth;
  if (const Json& table = reader.required("kernel_table"); !table.is_null())
    read_measured_kernels(&table, reader.diagnostics(), gpu);
  reader.finish();
}

// `fitted`: kernel fits too.
void read_chip(ObjectReader& reader, bool fitted, Gpu& gpu) {
  Diagnostics& diagnostics = reader.diagnostics();
  gpu.architecture = reader.choice<std::string>("architecture", std::nullopt,
                                                {{"volta", "volta"},
                                                 {"ampere", "ampere"},
                                                 {"ada", "ada"},
                                                 {"hopper", "hopper"},
                                                 {"blackwell", "blackwell"}});
  gpu.compute_capability = static_cast<int>(
      reader.integer("compute_capability", {.fallback = std::nullopt, .min = 70, .max = 200}));
  gpu.l2_cache = read_size(reader, "l2_cache");
  gpu.sms = static_cast<int>(reader.integer("sms", {.fallback = std::nullopt, .min = 1, .max = 10'000}));
  if (const Json* nvlink = reader.child("nvlink"); nvlink != nullptr) read_nvlink(*nvlink, diagnostics, gpu);
  if (const Json& pcie = reader.required("pcie"); !pcie.is_null()) read_pcie(pcie, diagnostics, gpu);
  gpu.power_watts = reader.number("power_watts", {.fallback = std::nullopt, .min = 1.0, .max = 100'000.0});
  const Json* profile = reader.child("profile");
  read_measured_kernels(reader.child("kernel_table"), diagnostics, gpu);
  reader.finish();
  if (fitted) read_kernel_profile(profile, diagnostics, gpu);
}

Gpu read_gpu_file(const Json& json, Diagnostics& diagnostics, bool fitted) {
  Gpu gpu;
  const Json resolved = resolve_base(json, diagnostics, "GPU type");
  if (resolved.is_null()) return gpu;
  ObjectReader reader(resolved, diagnostics, "gpu");
  gpu.kind = reader.choice<DeviceKind>("kind", DeviceKind::gpu, {{"gpu", DeviceKind::gpu}, {"cpu", DeviceKind::cpu}});
  gpu.name = reader.text("name", std::nullopt);
  gpu.source = reader.text("source", std::nullopt);
  if (const Json& peaks = reader.required("dense_peak"); !peaks.is_null())
    read_peaks(peaks, diagnostics, gpu);
  gpu.memory = read_size(reader, "memory");
  gpu.memory_bandwidth = read_speed(reader, "memory_bandwidth");
  if (gpu.kind == DeviceKind::cpu)
    read_cpu(reader, gpu);
  else
    read_chip(reader, fitted, gpu);
  return gpu;
}

}  // namespace

Gpu read_gpu(const Json& json, Diagnostics& diagnostics) { return read_gpu_file(json, diagnostics, true); }
Gpu read_data_sheet(const Json& json, Diagnostics& diagnostics) {
  return read_gpu_file(json, diagnostics, false);
}

}  // namespace orrery::hardware
