// Prediction against measurement of collectives. Prints one line a curve: the median of measured / predicted in each
// power of ten of sizes; then checks that the residual table in sim/network/residuals.cpp is what comes out here.
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

double quantile(std::vector<double> values, double q) {
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
    const TransferPlan plan = model.collective(curve.kind, Bytes(static_cast<std::int64_t>(point.bytes)), members);
    const double ratio = point.time_us * 1e-6 / plan.time.seconds();
    by_size[static_cast<int>(std::log10(point.bytes))].push_back(ratio);
    if (curve.in_table) residuals[{where_of(plan.crosses_nodes, cluster), regime_of(plan.latency / plan.time)}].push_back(std::log(ratio));
  }
  fmt::print("{:<52}", curve.name);
  for (const auto& [decade, ratios] : by_size) fmt::print(" 1e{}:{:.2f}", decade, quantile(ratios, 0.5));
  fmt::print("\n");
}

TEST(Residuals, TheTableIsWhatTheMeasurementsSay) {
  if (!measurements_exist()) GTEST_SKIP() << "../shared/data/collectives is not there";
  Residuals residuals;
  for (const MeasuredCurve& curve : measured_curves()) compare(curve, residuals);
  for (const auto& [key, values] : residuals) {
    const double low = quantile(values, 0.1), middle = quantile(values, 0.5), high = quantile(values, 0.9);
    fmt::print("where {} regime {}: {:5} points, 10 % {:+.3f}, median {:+.3f}, 90 % {:+.3f}\n",
               static_cast<int>(key.first), static_cast<int>(key.second), values.size(), low, middle, high);
    const ResidualInterval& interval = residual_of(key.first, key.second);
    EXPECT_NEAR(interval.low, low, 0.02);
    EXPECT_NEAR(interval.high, high, 0.02);
    EXPECT_NEAR(interval.measurements, static_cast<double>(values.size()), 0.05 * static_cast<double>(values.size()) + 2.0);
  }
}

}  // namespace
}  // namespace orrery::sim
