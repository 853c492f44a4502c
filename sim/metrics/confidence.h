// How sure the step time is. The step is cut into kinds of time whose errors are independent of each other:
// each kernel class, transfers of each kind of group, copies, the host. Within a kind errors are systematic
// (one fit made all of its numbers), so a kind's error scales its whole share w; between kinds they add in
// quadrature:
//
//     ln(high / value) = sqrt(sum (w log_high)^2),   ln(low / value) = -sqrt(sum (w log_low)^2)
//
// Bubbles and waits are other ranks' work and are spread over the kinds. docs/models/confidence.md has the
// sources.
#pragma once

#include <array>
#include <vector>

#include "hardware/cluster.h"
#include "sim/metrics/result.h"
#include "sim/metrics/undisturbed_time.h"

namespace orrery::sim {

struct ConfidenceInput {
  const hardware::Cluster& cluster;
  const UndisturbedTime& undisturbed;
  const std::array<double, kShares>& waterfall;  // seconds, averaged over ranks
  double communication_total;                    // share of the step in which a transfer is active
};

struct Confidence {
  std::vector<UncertainPart>
      parts;  // shares sum to 1 where anything runs, and one part for what runs differ by
  double measured = 0.0, interpolated = 0.0, modelled = 0.0;  // shares of all kernel and transfer time
};
Confidence confidence_of(const ConfidenceInput& input);

Interval interval_of(double value, const std::vector<UncertainPart>& parts);

}  // namespace orrery::sim
