// Attention kernels alone: bounds, growth with sequence and heads, measured points.
#include "sim/cost/attention_model.h"

#include <gtest/gtest.h>

#include "tests/sim/cost/gpus.h"

namespace orrery::sim {
namespace {

using hardware::KernelClass;

AttentionCall attention(double batch, double sequence, double heads, double head_dim, bool causal, bool backward) {
  AttentionCall call;
  call.batch = batch;
  call.sequence = sequence;
  call.heads = heads;
  call.head_dim = head_dim;
  call.causal = causal;
  call.backward = backward;
  call.bytes = 2.0 * batch * sequence * heads * head_dim * 4.0;
  return call;
}

double seconds(const hardware::Gpu& gpu, const AttentionCall& call) {
  return attention_seconds(
      call, half_precision(gpu),
      gpu.fit(call.backward ? KernelClass::attention_backward : KernelClass::attention_forward));
}

TEST(AttentionModel, CausalHalvesLongSequencesOnly) {
  for (const hardware::Gpu& gpu : shipped_gpus()) {
    const double longest = seconds(gpu, attention(1, 65536, 32, 128, true, false)) /
                           seconds(gpu, attention(1, 65536, 32, 128, false, false));
    EXPECT_NEAR(longest, 0.5, 0.02) << gpu.name;
    const double one_block = seconds(gpu, attention(64, 128, 32, 128, true, false)) /
                             seconds(gpu, attention(64, 128, 32, 128, false, false));
    EXPECT_DOUBLE_EQ(one_block, 1.0) << gpu.name;
  }
}

TEST(AttentionModel, GrowsWithEveryDimension) {
  for (const hardware::Gpu& gpu : shipped_gpus())
    for (const bool backward : {false, true}) {
      const double base = seconds(gpu, attention(2, 2048, 16, 64, true, backward));
      EXPECT_LT(base, seconds(gpu, attention(4, 2048, 16, 64, true, backward)));
      EXPECT_LT(base, seconds(gpu, attention(2, 4096, 16, 64, true, backward)));
      EXPECT_LT(base, seconds(gpu, attention(2, 2048, 32, 64, true, backward)));
      EXPECT_LT(base, seconds(gpu, attention(2, 2048, 16, 128, true, backward)));
    }
}

TEST(AttentionModel, NeverBeatsPeakOrMemory) {
  for (const hardware::Gpu& gpu : shipped_gpus())
    for (const double s : {1.0, 100.0, 512.0, 2048.0, 32768.0})
      for (const double heads : {1.0, 16.0, 128.0})
        for (const bool backward : {false, true}) {
          const AttentionCall call = attention(1, s, heads, 128, true, backward);
          const double flops = (backward ? 5.0 : 2.0) * s * s * heads * 128;  // causal: half of the square
          EXPECT_GE(seconds(gpu, call), flops / half_precision(gpu).peak) << gpu.name;
          EXPECT_GE(seconds(gpu, call), call.bytes / half_precision(gpu).hbm) << gpu.name;
        }
}

// FlashAttention-2's plot for the A100: 16k tokens, head_dim 128, s = 8192, causal: 182 TFLOP/s forward + backward.
TEST(AttentionModel, A100ForwardAndBackwardAsPlotted) {
  const hardware::Gpu gpu = gpu_named("a100-sxm4-80gb");
  const double both = seconds(gpu, attention(2, 8192, 16, 128, true, false)) +
                      seconds(gpu, attention(2, 8192, 16, 128, true, true));
  const double flops = 0.5 * 14.0 * 2 * 16 * 8192.0 * 8192.0 * 128;
  EXPECT_NEAR(flops / both * 1e-12, 182.0, 18.0);
}

}  // namespace
}  // namespace orrery::sim
