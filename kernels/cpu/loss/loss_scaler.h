// Dynamic loss scaling for fp16 (Micikevicius et al. 2018, section 3.2; the rule and the numbers of Apex and
// torch.cuda.amp.GradScaler). The loss's gradient is multiplied by the scale, so that small gradients do not
// vanish in fp16; the optimizer divides it out again. If a gradient overflowed, the step is skipped and the
// scale halved; after growth_interval good steps in a row it is doubled. A pure value: every rank that sees
// the same norms has the same scale.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace orrery::kernels {

struct LossScaler {
  double scale = 65536.0;
  std::int64_t good_steps = 0;  // since the last change
  std::int64_t growth_interval = 2000;
  double largest = 16777216.0, smallest = 1.0;  // 2^24, as in Apex; below 1 nothing is gained
};

// Whether a gradient was infinite or NaN: then its square is, and so is the sum of squares over all ranks.
// A unit's squares are summed in double; the sum over units and ranks is a float, as the schedule has it. Finite fp16
// gradients never reach its end (10^28 of the largest would); float gradients do where their norm is above 1.8e19, and
// such a step is skipped, too.
inline bool overflowed(double squared_norm) { return !std::isfinite(squared_norm); }

// The scaler for the next step.
inline LossScaler after_step(LossScaler scaler, bool overflow) {
  if (overflow) {
    scaler.scale = std::max(scaler.scale / 2.0, scaler.smallest);
    scaler.good_steps = 0;
  } else if (++scaler.good_steps >= scaler.growth_interval) {
    scaler.scale = std::min(scaler.scale * 2.0, scaler.largest);
    scaler.good_steps = 0;
  }
  return scaler;
}

}  // namespace orrery::kernels
