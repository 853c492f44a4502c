#include "sim/network/residuals.h"

#include <array>

namespace orrery::sim {
namespace {

constexpr std::array<std::array<ResidualInterval, 3>, 4> kResiduals = {{
    {{{-0.20, 0.20, 0}, {-0.20, 0.40, 0}, {-0.10, 0.20, 0}}},
    {{{-0.20, 0.40, 0}, {-0.20, 0.60, 0}, {-0.15, 0.20, 0}}},
    {{{-0.30, 0.50, 0}, {-0.20, 0.60, 0}, {-0.15, 0.20, 0}}},
    {{{-0.50, 0.90, 0}, {-0.50, 0.90, 0}, {-0.30, 0.50, 0}}},
}};

}  // namespace

Where where_of(bool crosses_machines, const hardware::Cluster& cluster) {
  if (!crosses_machines) return Where::one_machine;
  if (cluster.fabric.transport == hardware::Transport::tcp) return Where::tcp;
  return cluster.fabric.hop_latency > Duration::from_us(5) ? Where::slow_rdma : Where::rdma;
}

Regime regime_of(double latency_share) {
  if (latency_share > 0.8) return Regime::latency;
  return latency_share > 0.2 ? Regime::mixed : Regime::bandwidth;
}

const ResidualInterval& residual_of(Where where, Regime regime) {
  return kResiduals[static_cast<std::size_t>(where)][static_cast<std::size_t>(regime)];
}

}  // namespace orrery::sim
