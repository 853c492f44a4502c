// Fits time = fixed + flops x (s per FLOP) + bytes x (s per byte), none of them negative, to measured times:
// the physical baseline of a kernel, or alpha and beta of a transfer (flops = 0). Errors are relative, and
// robust: a point far off counts linearly (Huber 1964, threshold 1.345 sigma, sigma from the median absolute
// deviation), so that a few disturbed measurements do not bend the fit. Which of the three terms are there is
// chosen by the error with a penalty for each (n ln(mean loss) + 2 terms, after Akaike 1974): two points do
// not make a rate out of noise. Cost: 7 small solves an iteration, 20 iterations, O(n) each.
#pragma once

#include <span>

namespace orrery::hardware {

struct TimedWork {
  double flops = 0.0, bytes = 0.0;
  double seconds = 0.0;  // > 0
};

struct RateFit {
  double fixed_s = 0.0;
  double s_per_flop = 0.0, s_per_byte = 0.0;
  double seconds(double flops, double bytes) const {
    return fixed_s + flops * s_per_flop + bytes * s_per_byte;
  }
};

// `measured`: at least one. Gives a positive time for every one of them.
RateFit fit_rates(std::span<const TimedWork> measured);

}  // namespace orrery::hardware
