// What `cluster` answers, for people and as JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/network/cluster_report.h"

namespace orrery::sim {

struct CollectiveRow {
  Bytes size;
  TransferPlan plan;
};
struct CollectiveTable {
  schedule::OpKind kind = schedule::OpKind::all_reduce;
  std::int64_t gpus = 0;
  std::vector<CollectiveRow> rows;
};
CollectiveTable collective_table(const NetworkModel& times, schedule::OpKind kind, std::int64_t gpus,
                                 const std::vector<Bytes>& sizes);

// Usable bandwidth between the GPUs of the first machine and the first two of the second, at most kMatrixGpus
// of them.
struct BandwidthMatrix {
  std::vector<std::int64_t> gpus;
  std::vector<std::vector<Bandwidth>> usable;  // [from][to]; 0 on the diagonal
};
inline constexpr std::int64_t kMatrixGpus = 10;
BandwidthMatrix bandwidth_matrix(const AlphaBeta& model, const NetworkModel& times);

struct ClusterAnswer {
  ClusterReport report;
  bool all_links = false;  // else links that are alike are one line
  std::optional<ReportPath> path;
  std::optional<CollectiveTable> collective;
  std::optional<BandwidthMatrix> matrix;
};
std::string cluster_text(const ClusterAnswer& answer);
std::string cluster_json(const ClusterAnswer& answer);

}  // namespace orrery::sim
