// Prediction against measurement of collectives. Prints one line a curve: the median of measured / predicted
// in each power of ten of sizes; then checks that the residual table in sim/network/residuals.cpp is what
// comes out here.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/network/alpha_beta.h"
#include "sim/network/residuals.h"
#include "tests/sim/network/clusters.h"
#include "tests/sim/network/measurements.h"

namespace orrery::sim {
namespace {

using Residuals = std::map<std::pair<Where, Regime>, std::vector<double>>;

// The nearest value: the table rests on that, and where there are two dozen points the interpolated one differs.
double nearest_to(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

void compare(const MeasuredCurve& curve, Residuals& residuals) {
  const hardware::Cluster cluster = cluster_of(curve.cluster);
  scenarios::Network network;
  network.algorithm = curve.forced;
  const AlphaBeta model(cluster, network);
  const std::vector<std::int64_t> members = ranks(curve.ranks);
  std::map<int, std::vector<double>> by_size;
  for (const Measurement& point : curve.points) {
    const TransferPlan plan =
        model.collective(curve.kind, Bytes(static_cast<std::int64_t>(point.bytes)), members);
    const double ratio = point.time_us * 1e-6 / plan.time.seconds();
    by_size[static_cast<int>(std::log10(point.bytes))].push_back(ratio);
    if (curve.in_table)
      residuals[{where_of(plan.crosses_nodes, cluster), regime_of(plan.latency / plan.time)}].push_back(
          std::log(ratio));
  }
  fmt::print("{:<52}", curve.name);
  for (const auto& [decade, ratios] : by_size) fmt::print(" 1e{}:{:.2f}", decade, nearest_to(ratios, 0.5));
  fmt::print("\n");
}

TEST(Residuals, TheTableIsWhatTheMeasurementsSay) {
  if (!measurements_exist()) GTEST_SKIP() << "../shared/data/collectives is not there";
  Residuals residuals;
  const std::vector<MeasuredCurve> curves = measured_curves();
  ASSERT_GE(curves.size(), 40U) << "tables or the archive of one machine were not read";
  for (const MeasuredCurve& curve : curves) {
    ASSERT_FALSE(curve.points.empty()) << curve.name;
    compare(curve, residuals);
  }
  ASSERT_EQ(residuals.size(), 9U) << "three places with measurements, three regimes each";
  for (const auto& [key, values] : residuals) {
    const double low = nearest_to(values, 0.1), middle = nearest_to(values, 0.5), high = nearest_to(values, 0.9);
    fmt::print("where {} regime {}: {:5} points, 10 % {:+.3f}, median {:+.3f}, 90 % {:+.3f}\n",
               static_cast<int>(key.first), static_cast<int>(key.second), values.size(), low, middle, high);
    const ResidualInterval& interval = residual_of(key.first, key.second);
    EXPECT_NEAR(interval.low, low, 0.02);
    EXPECT_NEAR(interval.high, high, 0.02);
    EXPECT_NEAR(interval.measurements, static_cast<double>(values.size()),
                0.05 * static_cast<double>(values.size()) + 2.0);
  }
}

// Nobody has published a table over TCP: its interval is that of the slow RDMA fabrics, twice as wide both
// ways as their widest, and says that no measurement stands behind it.
TEST(Residuals, TcpIsTwiceAsUncertainAsTheNextBestKnown) {
  double widest = 0.0;
  for (const Regime regime : {Regime::latency, Regime::mixed, Regime::bandwidth}) {
    const ResidualInterval& known = residual_of(Where::slow_rdma, regime);
    EXPECT_GT(known.measurements, 0);
    widest = std::max({widest, -known.low, known.high});
  }
  for (const Regime regime : {Regime::latency, Regime::mixed, Regime::bandwidth}) {
    const ResidualInterval& tcp = residual_of(Where::tcp, regime);
    EXPECT_EQ(tcp.measurements, 0);
    EXPECT_DOUBLE_EQ(tcp.high, 2.0 * widest);
    EXPECT_DOUBLE_EQ(tcp.low, -2.0 * widest);
  }
}

TEST(Residuals, TransportAndHopLatencyDecideWhere) {
  hardware::Cluster cluster = shipped_cluster("a100-80g-16x8");
  EXPECT_EQ(where_of(false, cluster), Where::one_machine);
  EXPECT_EQ(where_of(true, cluster), Where::rdma);
  EXPECT_EQ(where_of(true, shipped_cluster("p4d-16x8")), Where::slow_rdma);
  cluster.fabric.transport = hardware::Transport::tcp;
  EXPECT_EQ(where_of(true, cluster), Where::tcp);
  EXPECT_EQ(where_of(false, cluster), Where::one_machine);
}

}  // namespace
}  // namespace orrery::sim
