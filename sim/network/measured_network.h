// The network model of a machine that was measured: times of collectives and messages come from its curves
// (hardware/transfer_table.h), everything else (what is loaded, what was not measured) from the model below
// it.
//
//   group size measured            the curve: at a point measured, between points interpolated, beyond
//   modelled between two measured sizes     ln(seconds) linear in ln(ranks) between their curves interpolated
//   beyond the measured sizes      the nearest size's curve, its latency by the ratio of a ring's steps, the
//   rest by the
//                                  ratio of bytes on the wire (estimate.h)                          modelled
//   no curve of the operation with this placement: the model below, and it is listed in `lacking`   modelled
//
// A group is `one_node` or `across_nodes`; how many ranks of it share a node is not told apart. What a
// transfer loads on links is what the model below says, stretched to the measured time; on a CPU machine
// transfers load NICs and cores: each member the curve's `cores` of one. The lane's overhead for an op
// (kernel table) is added to every transfer. Cost: that of the model below, and a few searches. Not for
// several threads at once.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hardware/transfer_curve.h"
#include "sim/network/alpha_beta.h"

namespace orrery::sim {

class MeasuredNetwork final : public NetworkModel {
 public:
  MeasuredNetwork(const hardware::Cluster& cluster, const scenarios::Network& wanted);

  TransferPlan collective(schedule::OpKind kind, Bytes bytes,
                          std::span<const std::int64_t> members) const override;
  TransferPlan point_to_point(std::int64_t from, std::int64_t to, Bytes bytes) const override;
  std::uint64_t pattern(std::span<const std::int64_t> members) const override {
    return below_.pattern(members);
  }
  std::uint32_t resource_count() const override;
  std::string resource_name(std::uint32_t resource) const override;
  void loads(const TransferPlan& plan, std::int64_t rank, bool sends, bool receives,
             std::vector<Load>& out) const override;
  std::optional<Cores> cores_of(std::int64_t rank) const override;

  // Operations that were asked for and have no curve, and curves in use that no line fits; each once, sorted.
  std::vector<std::string> lacking() const;
  std::vector<std::string> bent() const;

 private:
  struct Known {
    const hardware::TransferCurve& curve;
    double fixed_s = 0.0;  // of a line through it
    std::string bend;      // where no line fits (hardware::bend_of)
  };
  using Curves = std::map<std::int64_t, Known>;  // by ranks
  struct Estimate {
    double seconds = 0.0, latency = 0.0;
    double cores = 0.0;
    Origin origin = Origin::modelled;
    double log_low = 0.0, log_high = 0.0;
    std::string words;
  };

  const Curves* curves_of(hardware::TransferOperation operation, bool across) const;
  Estimate estimate(const Curves& curves, double ranks, double bytes) const;
  Estimate on_curve(const Known& known, double bytes) const;
  Estimate scaled(const Known& known, double ranks, double bytes) const;
  void apply(const Estimate& estimate, double bytes, double bus_factor, TransferPlan& plan) const;
  void no_curve(hardware::TransferOperation operation, bool across, TransferPlan& plan) const;

  const hardware::Cluster cluster_;
  const AlphaBeta below_;
  Duration overhead_;                                                      // of the lane, for each op
  std::map<std::pair<hardware::TransferOperation, bool>, Curves> curves_;  // by whether they are across nodes
  mutable std::set<std::string> lacking_, bent_;
};

}  // namespace orrery::sim
