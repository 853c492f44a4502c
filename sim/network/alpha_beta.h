// The alpha-beta network model: a transfer takes latency + bytes / bandwidth, with both from NCCL's own model of the
// algorithm it would choose, corrected by measurement. Endpoints (GPU ports, PCIe slots, NICs) are shared between
// transfers, the fabric is not: its oversubscription enters each group's bandwidth (fabric.h). docs/models/network.md.
//
// Cost: O(members) a plan; a plan for 16,384 members takes well under a millisecond. The model keeps what it learns of
// the links (routes) to itself; const functions may be called from several threads.
#pragma once

#include "hardware/cluster.h"
#include "sim/network/endpoints.h"
#include "sim/network/estimate.h"
#include "sim/network/group_links.h"
#include "sim/network/network_model.h"
#include "sim/network/topology.h"

namespace orrery::sim {

class AlphaBeta final : public NetworkModel {
 public:
  AlphaBeta(const hardware::Cluster& cluster, const scenarios::Network& wanted);
  AlphaBeta(const AlphaBeta&) = delete;
  AlphaBeta& operator=(const AlphaBeta&) = delete;

  TransferPlan collective(schedule::OpKind kind, Bytes bytes, std::span<const std::int64_t> members) const override;
  TransferPlan point_to_point(std::int64_t from, std::int64_t to, Bytes bytes) const override;
  TransferPlan by_node(const TokenExchange& exchange, Bytes bytes, std::span<const std::int64_t> members) const override;
  std::uint64_t pattern(std::span<const std::int64_t> members) const override;
  std::uint32_t resource_count() const override { return endpoints_.resource_count(); }
  std::string resource_name(std::uint32_t resource) const override { return endpoints_.resource_name(resource); }
  void loads(const TransferPlan& plan, std::int64_t rank, bool sends, bool receives,
             std::vector<Load>& out) const override;

  const Endpoints& endpoints() const { return endpoints_; }
  const Topology& topology() const { return topology_; }
  const RouteTable& routes() const { return routes_; }
  const hardware::Cluster& cluster() const { return cluster_; }

 private:
  TransferPlan planned(const CollectiveCall& call, const Estimate& estimate, bool forced_in_vain) const;

  const hardware::Cluster cluster_;
  const scenarios::Network wanted_;
  const Topology topology_;
  const RouteTable routes_;
  const Endpoints endpoints_;
  const GroupAnalysis analysis_;
};

}  // namespace orrery::sim
