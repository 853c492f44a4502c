#include "runtime/calibrate/hardware_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <span>

#include "base/check.h"
#include "base/quantile.h"
#include "runtime/state/durable_file.h"

namespace orrery::runtime {
namespace {

constexpr double kLeastSeconds = 1e-9;  // that a table holds
constexpr double kCountsForContention = 20e-6;

hardware::KernelPoint point_of(const TimedKernel& kernel, std::int64_t busy_ranks) {
  hardware::KernelPoint p;
  p.dims = kernel.key.dims;
  p.flops = kernel.key.flops;
  p.bytes = kernel.key.bytes;
  const SampleSummary alone = (kernel.alone.empty() ? kernel.busy : kernel.alone).summary();
  p.seconds = std::max(alone.seconds, kLeastSeconds);
  p.samples = alone.samples;
  p.outliers = alone.outliers;
  if (busy_ranks > 1 && !kernel.busy.empty()) {
    const SampleSummary busy = kernel.busy.summary();
    p.busy_seconds = std::max(busy.seconds, kLeastSeconds);
    p.seconds = std::clamp(p.seconds, p.busy_seconds / hardware::kMostContention, p.busy_seconds);
    p.samples += busy.samples;
    p.outliers += busy.outliers;
  }
  p.p10 = std::clamp(alone.p10, kLeastSeconds, p.seconds);
  p.p90 = std::max(alone.p90, p.seconds);
  return p;
}

std::string rate(double per_second) {
  return fmt::format("{:.4g} GFLOP/s", std::max(1.0, 1e-9 * per_second));
}
std::string speed(double per_second) {
  return fmt::format("{:.4g} GB/s", std::max(0.001, 1e-9 * per_second));
}

// The best that any kernel of one type reached, or the ceiling.
double peak(const Calibration& c, std::string_view type, double ceiling) {
  for (const hardware::MeasuredKernel& kernel : c.kernels.kernels)
    if (kernel.name.ends_with(type))
      for (const hardware::KernelPoint& p : kernel.points) ceiling = std::max(ceiling, p.flops / p.seconds);
  return ceiling;
}

std::string gpu_json(const Calibration& c) {
  const Ceilings& most = c.numbers.ceilings;
  return fmt::format(
      "{{\n  \"kind\": \"cpu\",\n  \"name\": {},\n  \"source\": {},\n"
      "  \"dense_peak\": {{\"fp32\": \"{}\", \"bf16\": \"{}\", \"fp16\": \"{}\"}},\n"
      "  \"memory\": \"{} B\",\n  \"memory_bandwidth\": \"{}\",\n  \"kernel_table\": {}\n}}\n",
      json_quoted(fmt::format("{}, one of {} ranks", c.machine.processor, c.ranks)),
      json_quoted("measured: " + hardware::words(c.kernels.provenance)),
      rate(peak(c, ".fp32", most.fp32_flops)), rate(peak(c, ".bf16", most.bf16_flops)),
      rate(peak(c, ".fp16", most.fp16_flops)), c.machine.memory_bytes / c.ranks, speed(most.copy_alone),
      json_quoted(c.name + ".kernels.json"));
}

std::string cluster_json(const Calibration& c) {
  const double together = c.numbers.ceilings.copy_together * static_cast<double>(c.busy_ranks);
  std::string text = fmt::format(
      "{{\n  \"name\": {},\n  \"source\": {},\n  \"gpu\": {},\n  \"nodes\": 1,\n"
      "  \"node\": {{\"gpus\": {}, \"cores\": {},\n           \"host\": {{\"memory\": \"{} B\", "
      "\"memory_bandwidth\": \"{}\", \"cpu_vendor\": \"{}\"}}}},\n  \"fabric\": {{\"kind\": \"none\"}}",
      json_quoted(
          fmt::format("{}: {} ranks on {} cores", c.name, c.ranks, c.machine.usable_cores())),
      json_quoted("measured: " + hardware::words(c.kernels.provenance)),
      json_quoted(c.name + ".gpu.json"), c.ranks, c.machine.usable_cores(), c.machine.memory_bytes,
      speed(together), c.machine.vendor);
  if (c.ranks > 1)
    text += fmt::format(",\n  \"transfers\": {}", json_quoted(c.name + ".transfers.json"));
  return text + "\n}\n";
}

double at_least_one(const std::vector<double>& ratios) {
  return std::max(1.0, median(ratios));  // none: 1
}

}  // namespace

std::vector<hardware::MeasuredKernel> measured_kernels(const KernelCatalog& catalog,
                                                       std::int64_t busy_ranks) {
  std::map<std::string, hardware::MeasuredKernel> by_name;
  for (const TimedKernel& timed : catalog.all()) {
    if (timed.alone.empty() && timed.busy.empty()) continue;
    const auto kind = schedule::kind_of_kernel(timed.key.name);
    CHECK(kind.has_value(), timed.key.name);
    hardware::MeasuredKernel& kernel = by_name[timed.key.name];
    kernel.name = timed.key.name;
    const auto dims = schedule::dimension_names(*kind);
    kernel.dims.assign(dims.begin(), dims.end());
    kernel.points.push_back(point_of(timed, busy_ranks));
  }
  std::vector<hardware::MeasuredKernel> kernels;
  for (auto& [name, kernel] : by_name) {
    std::sort(kernel.points.begin(), kernel.points.end(),
              [](const hardware::KernelPoint& a, const hardware::KernelPoint& b) { return a.dims < b.dims; });
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

hardware::Contention contention_of(const std::vector<hardware::MeasuredKernel>& kernels) {
  std::vector<double> compute, memory;
  for (const hardware::MeasuredKernel& kernel : kernels)
    for (const hardware::KernelPoint& p : kernel.points)
      if (p.busy_seconds > 0.0 && p.seconds >= kCountsForContention)
        (p.flops > 0.0 ? compute : memory).push_back(p.busy_seconds / p.seconds);
  return {at_least_one(compute), at_least_one(memory)};
}

std::vector<hardware::TransferCurve> measured_curves(const std::map<Exchange, TransferPhase::Curve>& curves) {
  std::vector<hardware::TransferCurve> all;
  for (const auto& [exchange, measured] : curves) {
    if (measured.points.empty()) continue;
    hardware::TransferCurve curve;
    curve.operation = exchange.first;
    curve.ranks = exchange.second;
    if (measured.visits > 0)
      curve.cores = std::round(100.0 * measured.cores_sum / static_cast<double>(measured.visits)) / 100.0;
    for (const auto& [bytes, samples] : measured.points) {
      const SampleSummary s = samples.summary();
      const double seconds = std::max(s.seconds, kLeastSeconds);
      curve.points.push_back({.bytes = bytes,
                              .seconds = seconds,
                              .p10 = std::clamp(s.p10, kLeastSeconds, seconds),
                              .p90 = std::max(s.p90, seconds),
                              .samples = s.samples,
                              .outliers = s.outliers});
    }
    all.push_back(std::move(curve));
  }
  return all;
}

std::vector<HardwareFile> hardware_files(const Calibration& c) {
  std::vector<HardwareFile> files = {{c.name + ".kernels.json", hardware::kernel_table_json(c.kernels)}};
  if (c.ranks > 1) files.push_back({c.name + ".transfers.json", hardware::transfer_table_json(c.transfers)});
  files.push_back({c.name + ".gpu.json", gpu_json(c)});
  files.push_back({c.name + ".json", cluster_json(c)});
  return files;
}

void write_files(const std::string& directory, const std::vector<HardwareFile>& files) {
  for (const HardwareFile& file : files) {
    const std::string path = directory + "/" + file.name, beside = path + ".new";
    DurableFile out(beside);
    out.write(std::as_bytes(std::span(file.text)));
    out.finish();
    if (std::rename(beside.c_str(), path.c_str()) != 0)
      throw WorldError(fmt::format("{}: rename: {}", path, std::strerror(errno)));
  }
  sync_directory(directory);
}

}  // namespace orrery::runtime
