#include "sim/cost/gemm_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace orrery::sim {
namespace {

struct Tile {
  double m, n;
};
// The thread-block tiles that cuBLAS and CUTLASS ship for tensor cores.
constexpr std::array<Tile, 8> kTiles = {
    {{256, 128}, {128, 256}, {128, 128}, {256, 64}, {64, 256}, {128, 64}, {64, 128}, {64, 64}}};
constexpr std::array<double, 4> kSplits = {1, 2, 4, 8};
constexpr double kSplitMinK = 256;        // a split keeps at least this much of K
constexpr double kOperandCost = 8.0;      // elements of tile edge; the fits of all GPU types are flat around it
constexpr double kDroopSeconds = 3e-3;    // how long a kernel runs before its clock has half fallen
constexpr double kReductionShare = 0.5;   // of split-K partial sums that leave the L2 cache

constexpr double operand_cost(Tile tile) { return 1.0 + kOperandCost * (1.0 / tile.m + 1.0 / tile.n); }

// Compute time of the best tiling.
double compute_seconds(const GemmCall& call, const KernelDevice& device, const hardware::KernelFit& fit) {
  const double sm_rate = device.peak / device.sms * fit.peak_fraction;
  const double partial_bytes = 8.0 * kReductionShare * call.batch * call.m * call.n;  // fp32, written and read
  const double reduction = partial_bytes / (device.hbm * fit.hbm_fraction);
  double best = std::numeric_limits<double>::infinity();
  for (const Tile tile : kTiles) {
    const double tiles = std::ceil(call.m / tile.m) * std::ceil(call.n / tile.n) * call.batch;
    const double per_k = 2.0 * tile.m * tile.n / sm_rate * (operand_cost(tile) / operand_cost(kTiles[0]));
    for (const double split : kSplits) {
      if (split > 1.0 && call.k < split * kSplitMinK) break;
      double t = std::ceil(tiles * split / device.sms) * per_k * (call.k / split + fit.half_k);
      if (split > 1.0) t += fit.launch_us * 1e-6 + split * reduction;
      best = std::min(best, t);
    }
  }
  return best;
}

}  // namespace

double gemm_seconds(const GemmCall& call, const KernelDevice& device, const hardware::KernelFit& fit, Clock clock) {
  const double compute = compute_seconds(call, device, fit);
  const double memory = call.bytes / (device.hbm * fit.hbm_fraction);
  const double c2 = compute * compute, m2 = memory * memory;
  const double t = std::sqrt(std::sqrt(c2 * c2 + m2 * m2));
  const double loaded = clock == Clock::sustained ? 1.0 : t / (t + kDroopSeconds);
  return fit.launch_us * 1e-6 + t * (1.0 + fit.droop * loaded);
}

}  // namespace orrery::sim
