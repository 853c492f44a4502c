#include "sim/metrics/confidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "schedule/kernel_work.h"
#include "sim/cost/analytic_cost.h"
#include "sim/cost/host_model.h"
#include "sim/metrics/block_runs.h"

namespace orrery::sim {
namespace {

using hardware::KernelClass;

// The same training configuration, published twice, differs by 0 to 5 %.
constexpr double kBetweenRuns = 0.05;

// Time of one kind, and its log errors weighted by time.
struct Weighed {
  double seconds = 0.0, low = 0.0, high = 0.0;
  void add(double time, double log_low, double log_high) {
    seconds += time;
    low += time * log_low;
    high += time * log_high;
  }
  double log_low() const { return seconds > 0.0 ? low / seconds : 0.0; }
  double log_high() const { return seconds > 0.0 ? high / seconds : 0.0; }
};

std::size_t kind_of_group(std::uint8_t group) {
  if (group == schedule::kTensor) return 0;
  if (group == schedule::kData) return 1;
  return group == schedule::kPipe ? 2 : 3;
}

struct Sums {
  std::array<Weighed, hardware::kKernelClasses> kernels{};
  std::array<Weighed, 4> transfers{};
  Weighed copies;
  std::array<double, 4> by_origin{};  // index: Origin
};

class Collector {
 public:
  explicit Collector(const ConfidenceInput& input) : in_(input) {}

  Sums run() {
    for (std::size_t p = 0; p < in_.schedule.programs.size(); ++p) {
      const schedule::Program& program = in_.schedule.programs[p];
      const std::int64_t rank = representative(in_.schedule, p);
      for_each_distinct_op(program, [&](const schedule::Op& op, std::int64_t runs) {
        if (schedule::is_communication(op.kind))
          add_transfer(program, op, rank, static_cast<double>(runs));
        else
          add_kernel(program, op, static_cast<double>(runs));
      });
    }
    return sums_;
  }

 private:
  void add_kernel(const schedule::Program& program, const schedule::Op& op, double runs) {
    const KernelTime time = in_.cost.time(program, op, in_.schedule.shapes[op.shape]);
    const double seconds = runs * time.time.seconds();
    if (const auto kernel = kernel_class(op.kind)) {
      sums_.kernels[static_cast<std::size_t>(*kernel)].add(seconds, time.log_low, time.log_high);
      sums_.by_origin[static_cast<std::size_t>(time.origin)] += seconds;
    } else {
      sums_.copies.add(seconds, time.log_low, time.log_high);
    }
  }

  void add_transfer(const schedule::Program& program, const schedule::Op& op, std::int64_t rank,
                    double runs) {
    const schedule::Group& group = in_.schedule.groups[op.group];
    if (group.size < 2 || !group.contains(rank)) return;
    const Spread& spread = spread_of(op, group, rank, schedule::message_bytes(program, op));
    sums_.transfers[kind_of_group(op.group)].add(runs * spread.seconds, spread.log_low, spread.log_high);
  }

  struct Spread {
    double seconds, log_low, log_high;
  };
  const Spread& spread_of(const schedule::Op& op, const schedule::Group& group, std::int64_t rank,
                          Bytes bytes) {
    const bool pair = schedule::is_point_to_point(op.kind);
    const std::int64_t place = pair ? rank : group.first(rank);
    const Key key{op.group, op.kind, place, pair ? op.peer : 0, bytes.count()};
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second;
    const TransferPlan plan = pair ? pair_plan(op, group, rank, bytes) : group_plan(op, group, rank, bytes);
    return plans_.emplace(key, Spread{plan.time.seconds(), plan.log_low, plan.log_high}).first->second;
  }

  TransferPlan pair_plan(const schedule::Op& op, const schedule::Group& group, std::int64_t rank,
                         Bytes bytes) const {
    const std::int64_t index = (group.index(rank) + op.peer % group.size + group.size) % group.size;
    const std::int64_t peer = group.member(rank, index);
    const bool sends = op.kind == schedule::OpKind::send;
    return in_.network.point_to_point(sends ? rank : peer, sends ? peer : rank, bytes);
  }

  TransferPlan group_plan(const schedule::Op& op, const schedule::Group& group, std::int64_t rank,
                          Bytes bytes) const {
    std::vector<std::int64_t> members;
    for (std::int64_t i = 0; i < group.size; ++i) members.push_back(group.member(rank, i));
    return in_.network.collective(op.kind, bytes, members);
  }

  using Key = std::tuple<std::uint8_t, schedule::OpKind, std::int64_t, std::int64_t, std::int64_t>;
  const ConfidenceInput& in_;
  std::map<Key, Spread> plans_;
  Sums sums_;
};

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

void add_kernel_parts(const ConfidenceInput& in, const Sums& sums, double share,
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
  const Sums sums = Collector(in).run();
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
  add_part(c.parts, {.name = "the host's issuing",
                     .origin = Origin::modelled,
                     .share = part_of(Share::host) / own,
                     .log_low = -kHostLogSpread,
                     .log_high = kHostLogSpread,
                     .source = "host_issue_cost of the cluster file"});
  c.parts.push_back({.name = "one run against another",
                     .origin = Origin::measured,
                     .share = 1.0,
                     .log_low = -kBetweenRuns,
                     .log_high = kBetweenRuns,
                     .source = "the same configuration, published twice, differs by 0 to 5 %"});
  double kernels = 0.0;
  for (const double seconds : sums.by_origin) kernels += seconds;
  const double step = own + part_of(Share::bubble) + part_of(Share::wait);
  const double transfers = in.communication_total * step, compute = part_of(Share::compute);
  const double busy = compute + transfers;
  const auto share = [&](Origin o) {
    return busy > 0.0 && kernels > 0.0
               ? compute / busy * sums.by_origin[static_cast<std::size_t>(o)] / kernels
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
