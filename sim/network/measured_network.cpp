#include "sim/network/measured_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "sim/network/estimate.h"

namespace orrery::sim {
namespace {

using hardware::CurvePart;
using hardware::TransferCurve;
using hardware::TransferOperation;
using schedule::OpKind;

constexpr double kBetweenSizes = 0.05;  // ln: what interpolating between group sizes adds to the interval
constexpr double kBeyondSizes = 0.4;    // ln: the least interval beyond the measured group sizes
constexpr double kUnknownCores = 1.0;   // of a transfer on a CPU machine that was not measured

// In the order of TransferOperation.
constexpr std::array<OpKind, hardware::kTransferOperations> kKinds = {
    OpKind::all_reduce, OpKind::reduce_scatter, OpKind::all_gather,
    OpKind::all_to_all, OpKind::broadcast,      OpKind::send};

OpKind kind_of(TransferOperation operation) { return kKinds[static_cast<std::size_t>(operation)]; }

TransferOperation operation_of(OpKind kind) {
  const auto* at = std::find(kKinds.begin(), kKinds.end(), kind);
  CHECK(at != kKinds.end(), schedule::name(kind));
  return static_cast<TransferOperation>(at - kKinds.begin());
}

Origin origin_of(CurvePart part) {
  return part == CurvePart::point     ? Origin::measured
         : part == CurvePart::between ? Origin::interpolated
                                      : Origin::modelled;
}

const char* words_of(Origin origin) {
  return origin == Origin::measured       ? "measured"
         : origin == Origin::interpolated ? "between measured sizes"
                                          : "beyond the measured sizes";
}

std::uint32_t stretched(std::uint32_t weight, double factor) {
  const double load = std::ceil(static_cast<double>(weight) * factor);
  return static_cast<std::uint32_t>(std::min(load, static_cast<double>(kFullLoad)));
}

}  // namespace

MeasuredNetwork::MeasuredNetwork(const hardware::Cluster& cluster, const scenarios::Network& wanted)
    : cluster_(cluster), below_(cluster_, wanted) {
  if (cluster_.gpu.kernel_table != nullptr) overhead_ = cluster_.gpu.kernel_table->op_overhead;
  if (cluster_.transfers == nullptr) return;
  for (const TransferCurve& curve : cluster_.transfers->curves)
    curves_[{curve.operation, curve.placement == hardware::TransferPlacement::across_nodes}].emplace(
        curve.ranks, Known{curve, hardware::shape_of(curve).line.fixed_s, hardware::bend_of(curve)});
}

TransferPlan MeasuredNetwork::collective(OpKind kind, Bytes bytes,
                                         std::span<const std::int64_t> members) const {
  TransferPlan plan = below_.collective(kind, bytes, members);
  if (members.size() == 1) return plan;
  const TransferOperation operation = operation_of(kind);
  const auto ranks = static_cast<double>(members.size()), size = static_cast<double>(bytes.count());
  if (const Curves* curves = curves_of(operation, plan.crosses_nodes))
    apply(estimate(*curves, ranks, size), size, bus_factor(kind, ranks), plan);
  else
    no_curve(operation, plan.crosses_nodes, plan);
  return plan;
}

TransferPlan MeasuredNetwork::point_to_point(std::int64_t from, std::int64_t to, Bytes bytes) const {
  TransferPlan plan = below_.point_to_point(from, to, bytes);
  const auto size = static_cast<double>(bytes.count());
  if (const Curves* curves = curves_of(TransferOperation::send_recv, plan.crosses_nodes))
    apply(estimate(*curves, 2.0, size), size, 1.0, plan);
  else
    no_curve(TransferOperation::send_recv, plan.crosses_nodes, plan);
  return plan;
}

const MeasuredNetwork::Curves* MeasuredNetwork::curves_of(TransferOperation operation, bool across) const {
  const auto found = curves_.find({operation, across});
  return found == curves_.end() ? nullptr : &found->second;
}

MeasuredNetwork::Estimate MeasuredNetwork::estimate(const Curves& curves, double ranks, double bytes) const {
  const auto above = curves.lower_bound(static_cast<std::int64_t>(ranks));
  if (above != curves.end() && static_cast<double>(above->first) == ranks)
    return on_curve(above->second, bytes);
  if (above == curves.end()) return scaled(curves.rbegin()->second, ranks, bytes);
  if (above == curves.begin()) return scaled(above->second, ranks, bytes);
  const auto& [less, smaller] = *std::prev(above);
  const auto& [more, larger] = *above;
  const Estimate a = on_curve(smaller, bytes), b = on_curve(larger, bytes);
  const double share = std::log(ranks / static_cast<double>(less)) /
                       std::log(static_cast<double>(more) / static_cast<double>(less));
  const auto between = [&](double x, double y) { return x + share * (y - x); };
  Estimate e;
  e.seconds = std::exp(between(std::log(a.seconds), std::log(b.seconds)));
  e.latency = std::min(between(a.latency, b.latency), e.seconds);
  e.cores = between(a.cores, b.cores);
  e.origin = std::max({a.origin, b.origin, Origin::interpolated});
  e.log_low = -std::hypot(std::min(a.log_low, b.log_low), kBetweenSizes);
  e.log_high = std::hypot(std::max(a.log_high, b.log_high), kBetweenSizes);
  e.words = fmt::format("between measured groups of {} and {} ranks", less, more);
  return e;
}

MeasuredNetwork::Estimate MeasuredNetwork::on_curve(const Known& known, double bytes) const {
  const TransferCurve& curve = known.curve;
  if (!known.bend.empty()) bent_.insert(known.bend);
  const hardware::CurveTime time = hardware::time_at(curve, bytes);
  Estimate e;
  e.seconds = time.seconds;
  e.latency = std::min(known.fixed_s, time.seconds);
  e.cores = curve.cores;
  e.origin = origin_of(time.part);
  e.log_low = time.log_low;
  e.log_high = time.log_high;
  e.words = fmt::format("{} (curve of {} ranks, {})", words_of(e.origin), curve.ranks, name(curve.placement));
  return e;
}

MeasuredNetwork::Estimate MeasuredNetwork::scaled(const Known& known, double ranks, double bytes) const {
  const TransferCurve& curve = known.curve;
  const OpKind kind = kind_of(curve.operation);
  const auto measured = static_cast<double>(curve.ranks);
  Estimate e = on_curve(known, bytes);
  const double steps = ring_steps(kind, ranks) / ring_steps(kind, measured);
  const double wire = bus_factor(kind, ranks) / bus_factor(kind, measured);
  const double latency = e.latency * steps;
  e.seconds = latency + (e.seconds - e.latency) * wire;
  e.latency = latency;
  e.origin = Origin::modelled;
  e.log_low = std::min(2.0 * e.log_low, -kBeyondSizes);
  e.log_high = std::max(2.0 * e.log_high, kBeyondSizes);
  e.words = fmt::format("scaled from the curve of {} ranks, {}", curve.ranks, name(curve.placement));
  return e;
}

void MeasuredNetwork::apply(const Estimate& e, double bytes, double factor, TransferPlan& plan) const {
  const double stretch = plan.time.seconds() / e.seconds;
  plan.port_weight = stretched(plan.port_weight, stretch);
  plan.pcie_weight = stretched(plan.pcie_weight, stretch);
  plan.nic_weight = stretched(plan.nic_weight, stretch);
  if (cluster_.gpu.kind == hardware::DeviceKind::cpu) {
    plan.port_weight = plan.pcie_weight = 0;
    plan.sms = 0;
    plan.core_weight = stretched(kFullLoad, e.cores);
  }
  plan.time = Duration::from_seconds_up(e.seconds) + overhead_;
  plan.latency = Duration::from_seconds_up(e.latency) + overhead_;
  plan.algorithm_bandwidth = bytes / plan.time.seconds();
  plan.bus_bandwidth = plan.algorithm_bandwidth * factor;
  plan.origin = e.origin;
  plan.log_low = e.log_low;
  plan.log_high = e.log_high;
  plan.explanation = e.words;
}

void MeasuredNetwork::no_curve(TransferOperation operation, bool across, TransferPlan& plan) const {
  plan.time += overhead_;
  plan.latency += overhead_;
  if (cluster_.transfers != nullptr)
    lacking_.insert(fmt::format("{} {}", name(operation), across ? "across nodes" : "on one node"));
  if (cluster_.gpu.kind != hardware::DeviceKind::cpu) return;
  plan.port_weight = plan.pcie_weight = 0;
  plan.sms = 0;
  plan.core_weight = stretched(kFullLoad, kUnknownCores);
}

std::uint32_t MeasuredNetwork::resource_count() const {
  return below_.resource_count() + (cluster_.node.cores > 0 ? static_cast<std::uint32_t>(cluster_.nodes) : 0);
}

std::string MeasuredNetwork::resource_name(std::uint32_t resource) const {
  if (resource < below_.resource_count()) return below_.resource_name(resource);
  return fmt::format("node{} cores", resource - below_.resource_count());
}

void MeasuredNetwork::loads(const TransferPlan& plan, std::int64_t rank, bool sends, bool receives,
                            std::vector<Load>& out) const {
  below_.loads(plan, rank, sends, receives, out);
  if (plan.core_weight == 0) return;
  if (const std::optional<Cores> cores = cores_of(rank))
    out.push_back({cores->resource, std::max<std::uint32_t>(1, plan.core_weight / cores->count)});
}

std::optional<Cores> MeasuredNetwork::cores_of(std::int64_t rank) const {
  if (cluster_.node.cores == 0) return std::nullopt;
  const auto node = static_cast<std::uint32_t>(below_.endpoints().place(rank).node);
  return Cores{below_.resource_count() + node, static_cast<std::uint32_t>(cluster_.node.cores)};
}

std::vector<std::string> MeasuredNetwork::lacking() const { return {lacking_.begin(), lacking_.end()}; }
std::vector<std::string> MeasuredNetwork::bent() const { return {bent_.begin(), bent_.end()}; }

}  // namespace orrery::sim
