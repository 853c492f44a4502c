// How far predictions of transfers were from measurement: ln(measured / predicted), 10th and 90th percentile,
// by where the transfer runs and by how much of it is latency. Computed by tests/sim/network/residuals_test
// over public nccl-tests and AIConfigurator tables; that test fails when the table below no longer describes
// what it computes.
#pragma once

#include "hardware/cluster.h"

namespace orrery::sim {

enum class Where : std::uint8_t { one_machine, rdma, slow_rdma, tcp };
enum class Regime : std::uint8_t {
  latency,
  mixed,
  bandwidth
};  // latency share of the time: > 0.8, > 0.2, less

struct ResidualInterval {
  double low, high;
  int measurements;  // 0: none; assumed, from another row
};

Where where_of(bool crosses_machines, const hardware::Cluster& cluster);
Regime regime_of(double latency_share);
const ResidualInterval& residual_of(Where where, Regime regime);

}  // namespace orrery::sim
