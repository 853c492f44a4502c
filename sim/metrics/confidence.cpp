#include "sim/metrics/confidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

void add_kernel_parts(const ConfidenceInput& in, const UndisturbedTime& sums, double share,
                      std::vector<UncertainPart>& parts) {
  double all = 0.0;
  for (const Weighed& kernel : sums.kernels) all += kernel.seconds;
  for (std::size_t c = 0; c < hardware::kKernelClasses && all > 0.0; ++c) {
    const auto kernel = static_cast<KernelClass>(c);
    const hardware::KernelFit& fit = in.cluster.gpu.fit(kernel);
    const Weighed& w = sums.kernels[c];
    add_part(parts, {.name = kernel_name(kernel),
                     .origin = Origin::modelled,
                     .share = share * w.seconds / all,
                     .log_low = w.log_low(),
                     .log_high = w.log_high(),
                     .source = fmt::format("{} measurements; {}", fit.measurements, fit.source)});
  }
}

}  // namespace

Confidence confidence_of(const ConfidenceInput& in) {
  const UndisturbedTime& sums = in.undisturbed;
  const auto part_of = [&](Share s) { return in.waterfall[static_cast<std::size_t>(s)]; };
  double own = 0.0;  // what is not another rank's work
  for (std::size_t s = 0; s <= static_cast<std::size_t>(Share::host); ++s) own += in.waterfall[s];
  Confidence c;
  if (own <= 0.0) return c;
  add_kernel_parts(in, sums, part_of(Share::compute) / own, c.parts);
  static constexpr std::array kGroups = {"tensor-parallel transfers", "data-parallel transfers",
                                         "pipeline transfers", "other transfers"};
  for (std::size_t g = 0; g < kGroups.size(); ++g) {
    const Weighed& w = sums.transfers[g];
    const double exposed = in.waterfall[static_cast<std::size_t>(Share::exposed_tensor) + g];
    add_part(c.parts,
             {.name = std::string(kGroups[g]) + " (exposed)",
              .origin = Origin::modelled,
              .share = exposed / own,
              .log_low = w.log_low(),
              .log_high = w.log_high(),
              .source = "NCCL's cost model and the residuals of nccl-tests tables (docs/models/network.md)"});
  }
  const bool copies = sums.copies.seconds > 0.0;
  add_part(c.parts, {.name = "host copies (exposed)",
                     .origin = Origin::modelled,
                     .share = part_of(Share::copy) / own,
                     .log_low = copies ? sums.copies.log_low() : -kHostLogSpread,
                     .log_high = copies ? sums.copies.log_high() : kHostLogSpread,
                     .source = "sim/cost/host_model.h"});
  const bool updates = sums.host_work.seconds > 0.0;
  add_part(c.parts, {.name = updates ? "the host: issuing and CPU Adam" : "the host's issuing",
                     .origin = Origin::modelled,
                     .share = part_of(Share::host) / own,
                     .log_low = -kHostLogSpread,
                     .log_high = kHostLogSpread,
                     .source = updates ? "host_issue_cost of the cluster file; sim/cost/host_model.h"
                                       : "host_issue_cost of the cluster file"});
  c.parts.push_back({.name = "one run against another",
                     .origin = Origin::measured,
                     .share = 1.0,
                     .log_low = -kBetweenRuns,
                     .log_high = kBetweenRuns,
                     .source = "pairs of published runs differ by 0 to 5 %, sometimes 9 %; 5 % is assumed"});
  double kernels = 0.0;
  for (const double seconds : sums.kernels_of_origin) kernels += seconds;
  const double step = own + part_of(Share::bubble) + part_of(Share::wait);
  const double transfers = in.communication_total * step, compute = part_of(Share::compute);
  const double busy = compute + transfers;
  const auto share = [&](Origin o) {
    return busy > 0.0 && kernels > 0.0
               ? compute / busy * sums.kernels_of_origin[static_cast<std::size_t>(o)] / kernels
               : 0.0;
  };
  c.measured = share(Origin::measured) + share(Origin::exact);
  c.interpolated = share(Origin::interpolated);
  c.modelled = share(Origin::modelled) + (busy > 0.0 ? transfers / busy : 0.0);
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
