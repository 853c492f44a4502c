#include "sim/network/residuals.h"

#include <array>

namespace orrery::sim {
namespace {

constexpr std::array<std::array<ResidualInterval, 3>, 4> kResiduals = {{
    // One machine: 2 to 8 V100, A100, H100, B200; AIConfigurator's and nccl-tests tables, NCCL 2.27.
    {{{-0.261, 0.173, 2196}, {-0.153, 0.281, 1285}, {-0.032, 0.212, 848}}},
    // InfiniBand and RoCE without added hop latency: nccl-tests on V100 EDR, A100 HDR, H100, B200 NDR, 2 to
    // 16 machines.
    {{{-0.068, 0.244, 71}, {-0.143, 0.499, 48}, {-0.066, 0.264, 41}}},
    // RDMA-like fabrics whose hops cost 20 us and more: nccl-tests on EFA and GPUDirect-TCPXO, 2 machines.
    {{{-0.042, 0.256, 45}, {-0.012, 0.268, 23}, {-0.062, 0.319, 25}}},
    // TCP sockets: no table to fit on. Assumed: both ways twice the widest that the row above has.
    {{{-0.638, 0.638, 0}, {-0.638, 0.638, 0}, {-0.638, 0.638, 0}}},
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
