// What the `cluster` command prints: the links of a machine (or of the whole explicit graph), and the path
// between any two GPUs with its usable bandwidth. Names are those of traces: a link that transfers share says
// as which resource.
#pragma once

#include <string>
#include <vector>

#include "sim/network/alpha_beta.h"

namespace orrery::sim {

struct ReportLink {
  std::string from, to;  // "node0/gpu3", "node0/nvswitch", "leaf1", ...
  LinkClass link_class = LinkClass::pcie;
  Bandwidth usable;       // one direction
  std::string shared_as;  // NetworkModel::resource_name of the endpoint that this direction loads, or empty
};

struct ReportPath {
  std::vector<ReportLink> links;  // in order
  Bandwidth usable;               // what one large transfer between the two gets
  Duration latency;               // of a transfer of no size
  std::string kind;               // "NVLink", "PCIe", "network"
};

struct ClusterReport {
  std::string name, gpu, fabric;
  std::int64_t nodes = 0, gpus = 0;
  int gpus_per_node = 0;
  double nic_efficiency =
      0.0;  // usable share of the NICs' line rate, and where that is from; empty: no fabric
  std::string nic_source;
  bool oversubscribed = false;  // a pair across leaves then gets its share of uplinks that all of a leaf use
  std::vector<ReportLink>
      links;  // each direction; of machine 0, its NICs' network links included, or of the whole graph
};

ClusterReport report_cluster(const AlphaBeta& model);
// Two different ranks of the cluster.
ReportPath report_path(const AlphaBeta& model, std::int64_t from, std::int64_t to);
// Bandwidth and latency as `times` has them, where that is another model of the same cluster.
ReportPath report_path(const AlphaBeta& model, const NetworkModel& times, std::int64_t from, std::int64_t to);

const char* name(LinkClass link_class);

}  // namespace orrery::sim
