// What the machine can do at most, as far as its own kernels can tell: products of one rank, and copies of
// memory by one rank alone and by all of them at once. They stand where a hardware file wants a peak.
#pragma once

#include <atomic>
#include <cstdint>

namespace orrery::runtime {

struct Ceilings {
  double fp32_flops = 0.0, bf16_flops = 0.0,
         fp16_flops = 0.0;     // FLOP/s of one rank, the best of several products
  double copy_alone = 0.0;     // bytes read and written each second, by one rank
  double copy_together = 0.0;  // by each of `ranks` at once
};

// Takes about `seconds`.
Ceilings measure_ceilings(std::int64_t ranks, double seconds, const std::atomic<bool>& stop);

}  // namespace orrery::runtime
