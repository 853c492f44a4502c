#include "sim/metrics/confidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/cost/host_model.h"

namespace orrery::sim {
namespace {

using hardware::KernelClass;

// Pairs of published runs of one configuration differ by 0 to 5 %, sometimes 9 %. That 5 % either way holds
// 80 % of them is assumed.
constexpr double kBetweenRuns = 0.05;

std::string kernel_name(KernelClass kernel) {
  switch (kernel) {
    case KernelClass::gemm:
      return "matrix products";
    case KernelClass::attention_forward:
      return "attention, forward";
    case KernelClass::attention_backward:
      return "attention, backward";
    case KernelClass::memory_bound:
      return "memory-bound kernels";
  }
  return "?";
}

void add_part(std::vector<UncertainPart>& parts, UncertainPart part) {
  if (part.share > 0.0) parts.push_back(std::move(part));
}

// "matrix products", or with a table behind it "matrix products (interpolated)".
std::string named(const std::string& what, Origin origin, bool measured) {
  return measured ? fmt::format("{} ({})", what, name(origin)) : what;
}

std::string kernel_source(const hardware::Gpu& gpu, KernelClass kernel) {
  if (gpu.kernel_table != nullptr) return "kernel table: " + hardware::words(gpu.kernel_table->provenance);
  const hardware::KernelFit& fit = gpu.fit(kernel);
  return fmt::format("{} measurements; {}", fit.measurements, fit.source);
}

void add_kernel_parts(const ConfidenceInput& in, const UndisturbedTime& sums, double share,
                      std::vector<UncertainPart>& parts) {
  double all = 0.0;
  for (const Weighed& kernel : sums.kernels) all += kernel.seconds;
  const bool measured = in.cluster.gpu.kernel_table != nullptr;
  for (std::size_t c = 0; c < hardware::kKernelClasses && all > 0.0; ++c)
    for (std::size_t o = 0; o < kOrigins; ++o) {
      const auto kernel = static_cast<KernelClass>(c);
      const auto origin = static_cast<Origin>(o);
      const Weighed& w = sums.kernels_by_origin[c][o];
      add_part(parts, {.name = named(kernel_name(kernel), origin, measured),
                       .origin = origin,
                       .share = share * w.seconds / all,
                       .log_low = w.log_low(),
                       .log_high = w.log_high(),
                       .source = kernel_source(in.cluster.gpu, kernel)});
    }
}

void add_transfer_parts(const ConfidenceInput& in, double own, std::vector<UncertainPart>& parts) {
  static constexpr std::array kGroups = {"tensor-parallel transfers", "data-parallel transfers",
                                         "pipeline transfers", "context-parallel transfers",
                                         "expert-parallel transfers", "other transfers"};
  static_assert(kGroups.size() == schedule::kGroupKinds);
  const bool measured = in.cluster.transfers != nullptr;
  const std::string source =
      measured ? "transfer table: " + hardware::words(in.cluster.transfers->provenance)
               : "NCCL's cost model and the residuals of nccl-tests tables (docs/models/network.md)";
  for (std::size_t g = 0; g < kGroups.size(); ++g) {
    const double exposed = in.waterfall[static_cast<std::size_t>(Share::exposed_tensor) + g] / own;
    const double all = in.undisturbed.transfers[g].seconds;
    for (std::size_t o = 0; o < kOrigins; ++o) {
      const auto origin = static_cast<Origin>(o);
      const Weighed& w = in.undisturbed.transfers_by_origin[g][o];
      add_part(parts, {.name = named(std::string(kGroups[g]) + " (exposed)", origin, measured),
                       .origin = origin,
                       .share = all > 0.0 ? exposed * (w.seconds / all) : 0.0,
                       .log_low = w.log_low(),
                       .log_high = w.log_high(),
                       .source = source});
    }
  }
}

void add_host_parts(const ConfidenceInput& in, double own, std::vector<UncertainPart>& parts) {
  const UndisturbedTime& sums = in.undisturbed;
  const auto part_of = [&](Share s) { return in.waterfall[static_cast<std::size_t>(s)]; };
  const bool copies = sums.copies.seconds > 0.0, measured = in.cluster.gpu.kernel_table != nullptr;
  add_part(parts, {.name = "host copies (exposed)",
                   .origin = Origin::modelled,
                   .share = part_of(Share::copy) / own,
                   .log_low = copies ? sums.copies.log_low() : -kHostLogSpread,
                   .log_high = copies ? sums.copies.log_high() : kHostLogSpread,
                   .source = measured ? kernel_source(in.cluster.gpu, KernelClass::memory_bound)
                                      : "sim/cost/host_model.h"});
  const bool updates = sums.host_work.seconds > 0.0;
  add_part(parts, {.name = updates ? "the host: issuing and CPU Adam" : "the host's issuing",
                   .origin = Origin::modelled,
                   .share = part_of(Share::host) / own,
                   .log_low = -kHostLogSpread,
                   .log_high = kHostLogSpread,
                   .source = updates ? "host_issue_cost of the cluster file; sim/cost/host_model.h"
                                     : "host_issue_cost of the cluster file"});
}

// Shares of all kernel and transfer time by origin: kernels by their undisturbed times, transfers likewise.
void fill_fractions(const ConfidenceInput& in, double compute, double transfers, Confidence& c) {
  std::array<double, kOrigins> kernel_seconds{}, transfer_seconds{};
  for (const auto& of_class : in.undisturbed.kernels_by_origin)
    for (std::size_t o = 0; o < kOrigins; ++o) kernel_seconds[o] += of_class[o].seconds;
  for (const auto& of_group : in.undisturbed.transfers_by_origin)
    for (std::size_t o = 0; o < kOrigins; ++o) transfer_seconds[o] += of_group[o].seconds;
  const double kernels = std::accumulate(kernel_seconds.begin(), kernel_seconds.end(), 0.0);
  const double moved = std::accumulate(transfer_seconds.begin(), transfer_seconds.end(), 0.0);
  const double busy = compute + transfers;
  const auto share = [&](Origin origin) {
    const auto o = static_cast<std::size_t>(origin);
    if (busy <= 0.0) return 0.0;
    const double of_kernels = kernels > 0.0 ? compute / busy * (kernel_seconds[o] / kernels) : 0.0;
    const double of_transfers = moved > 0.0 ? transfers / busy * (transfer_seconds[o] / moved) : 0.0;
    return of_kernels + of_transfers;
  };
  c.measured = share(Origin::measured) + share(Origin::exact);
  c.interpolated = share(Origin::interpolated);
  c.modelled = share(Origin::modelled);
}

}  // namespace

Confidence confidence_of(const ConfidenceInput& in) {
  const auto part_of = [&](Share s) { return in.waterfall[static_cast<std::size_t>(s)]; };
  double own = 0.0;  // what is not another rank's work
  for (std::size_t s = 0; s <= static_cast<std::size_t>(Share::host); ++s) own += in.waterfall[s];
  Confidence c;
  if (own <= 0.0) return c;
  const double compute = part_of(Share::compute);
  add_kernel_parts(in, in.undisturbed, compute / own, c.parts);
  add_transfer_parts(in, own, c.parts);
  add_host_parts(in, own, c.parts);
  c.parts.push_back({.name = "one run against another",
                     .origin = Origin::measured,
                     .share = 1.0,
                     .log_low = -kBetweenRuns,
                     .log_high = kBetweenRuns,
                     .source = "pairs of published runs differ by 0 to 5 %, sometimes 9 %; 5 % is assumed"});
  const double step = own + part_of(Share::bubble) + part_of(Share::wait);
  fill_fractions(in, compute, in.communication_total * step, c);
  return c;
}

Interval interval_of(double value, const std::vector<UncertainPart>& parts) {
  double low = 0.0, high = 0.0;
  for (const UncertainPart& part : parts) {
    low += std::pow(part.share * part.log_low, 2);
    high += std::pow(part.share * part.log_high, 2);
  }
  return {value, value * std::exp(-std::sqrt(low)), value * std::exp(std::sqrt(high))};
}

}  // namespace orrery::sim
