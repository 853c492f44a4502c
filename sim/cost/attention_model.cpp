#include "sim/cost/attention_model.h"

#include <algorithm>
#include <cmath>

namespace orrery::sim {
namespace {
constexpr double kBlockRows = 128;       // query rows of one thread block
constexpr double kForwardFlops = 4.0;    // q k^T and p v: two products, 2 FLOPs per multiply-add
constexpr double kBackwardFlops = 10.0;  // five products: q k^T again, dv, dp, dq, dk
}  // namespace

double attention_seconds(const AttentionCall& call, const KernelDevice& device, const hardware::KernelFit& fit) {
  const double s = call.sequence;
  const double block = std::min(kBlockRows, s);
  const double k = call.keys > 0.0 ? call.keys : s;
  const double pairs = call.causal ? 0.5 * s * (k + (call.diagonal ? block : 0.0)) : s * k;
  const double per_pair = (call.backward ? kBackwardFlops : kForwardFlops) * (call.head_dim + fit.half_k);
  const double work = call.batch * call.heads * per_pair * (pairs + fit.half_sequence * s);
  const double row = per_pair * block * (k + fit.half_sequence);
  const double compute = (work + 0.5 * row * device.sms) / (device.peak * fit.peak_fraction);
  const double memory = call.bytes / (device.hbm * fit.hbm_fraction);
  const double c2 = compute * compute, m2 = memory * memory;
  return fit.launch_us * 1e-6 + std::sqrt(std::sqrt(c2 * c2 + m2 * m2));
}

}  // namespace orrery::sim
