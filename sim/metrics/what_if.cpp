#include "sim/metrics/what_if.h"

#include <algorithm>

namespace orrery::sim {
namespace {

constexpr double kFaster = 2.0;

Bandwidth faster(Bandwidth b) { return Bandwidth(kFaster * b.value()); }

}  // namespace

std::string_view word(Resource resource) {
  switch (resource) {
    case Resource::compute: return "FLOP/s of the GPU";
    case Resource::memory_bandwidth: return "memory bandwidth of the GPU";
    case Resource::nvlink: return "NVLink";
    case Resource::pcie: return "PCIe and between sockets";
    case Resource::network: return "NICs and their PCIe";
    case Resource::host: return "the host's issuing of ops";
  }
  return "";
}

bool has(const scenarios::Scenario& s, Resource resource) {
  const hardware::Cluster& c = s.cluster;
  if (c.gpu.kernel_table != nullptr) return false;  // a measured machine: its times are not made of rates
  switch (resource) {
    case Resource::compute:
    case Resource::memory_bandwidth: return true;
    case Resource::nvlink: return c.gpu.nvlinks > 0 && s.parallel.world() > 1;
    case Resource::pcie: return true;
    case Resource::network: return c.nodes > 1 && !c.node.nics.empty();
    case Resource::host: return c.host_issue_cost > Duration{};
  }
  return false;
}

scenarios::Scenario twice(const scenarios::Scenario& scenario, Resource resource) {
  scenarios::Scenario s = scenario;
  hardware::Cluster& c = s.cluster;
  switch (resource) {
    case Resource::compute:
      for (FlopRate& peak : c.gpu.dense_peak) peak = FlopRate(kFaster * peak.value());
      break;
    case Resource::memory_bandwidth:
      c.gpu.memory_bandwidth = faster(c.gpu.memory_bandwidth);
      break;
    case Resource::nvlink:
      c.gpu.nvlink_line = faster(c.gpu.nvlink_line);
      c.gpu.nvlink_usable = faster(c.gpu.nvlink_usable);
      break;
    case Resource::network:  // a faster NIC is of no use in an old slot
      for (hardware::Nic& nic : c.node.nics) nic.line = faster(nic.line);
      [[fallthrough]];
    case Resource::pcie:
      c.gpu.pcie_line = faster(c.gpu.pcie_line);
      c.gpu.pcie_usable = faster(c.gpu.pcie_usable);
      c.node.socket_link = faster(c.node.socket_link);
      break;
    case Resource::host:
      c.host_issue_cost = Duration::from_seconds_up(c.host_issue_cost.seconds() / kFaster);
      break;
  }
  return s;
}

std::vector<Gain> gains(const scenarios::Scenario& scenario, const PredictOptions& options) {
  std::vector<Gain> all;
  for (const Resource resource : kResources)
    if (has(scenario, resource)) all.push_back({resource, predict(twice(scenario, resource), options).result.step_time_s.value});
  std::stable_sort(all.begin(), all.end(), [](const Gain& a, const Gain& b) { return a.step_time_s < b.step_time_s; });
  return all;
}

}  // namespace orrery::sim
