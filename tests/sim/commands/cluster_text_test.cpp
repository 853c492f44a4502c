// What `cluster` prints of a cluster: where its network constants come from.
#include "sim/commands/cluster_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/data_root.h"
#include "hardware/cluster_reader.h"
#include "scenarios/scenario.h"

namespace orrery::sim {
namespace {

using testing::HasSubstr;
using testing::Not;

ClusterAnswer answer(const std::string& file) {
  Diagnostics diagnostics;
  const hardware::Cluster cluster =
      hardware::read_cluster(read_json(data_root() + "/hardware/clusters/" + file), diagnostics);
  diagnostics.throw_if_errors();
  ClusterAnswer answer;
  answer.report = report_cluster(AlphaBeta(cluster, scenarios::Network{}));
  return answer;
}

TEST(ClusterText, NamesTheSourceOfItsNics) {
  const ClusterAnswer fabric = answer("a100-80g-16x8.json");
  EXPECT_THAT(cluster_text(fabric),
              HasSubstr("\n  NICs: 95.0 % of line rate (nccl-tests, DGX A100, 8 x HDR"));
  EXPECT_THAT(cluster_json(fabric), HasSubstr("\"nic_source\": \"nccl-tests, DGX A100, 8 x HDR"));
  EXPECT_THAT(cluster_text(answer("a100-80g-1gpu.json")), Not(HasSubstr("NICs")));
}

}  // namespace
}  // namespace orrery::sim
