// What the ops of a step take undisturbed, one rank of each program together, added up over the distinct ops
// before anything is simulated. It bounds the step from above but for what sharing slows, tells how sure each
// kind of time is (confidence.h), and which collectives did not obey a forced algorithm. Cost: one plan a
// distinct message.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "hardware/gpu.h"
#include "schedule/ir.h"
#include "sim/cost/kernel_cost.h"
#include "sim/network/network_model.h"

namespace orrery::sim {

// Time of one kind, and its log errors weighted by time.
struct Weighed {
  double seconds = 0.0, low = 0.0, high = 0.0;
  void add(double time, double log_low, double log_high) {
    seconds += time;
    low += time * log_low;
    high += time * log_high;
  }
  double log_low() const { return seconds > 0.0 ? low / seconds : 0.0; }
  double log_high() const { return seconds > 0.0 ? high / seconds : 0.0; }
};

struct UndisturbedTime {
  std::array<Weighed, hardware::kKernelClasses> kernels{};
  std::array<Weighed, schedule::kGroupKinds> transfers{};
  Weighed copies, host_work;  // host_work: the CPU optimizer
  // The same, apart by origin (index: Origin).
  std::array<std::array<Weighed, kOrigins>, hardware::kKernelClasses> kernels_by_origin{};
  std::array<std::array<Weighed, kOrigins>, schedule::kGroupKinds> transfers_by_origin{};
  double ops = 0.0;                           // that hosts issue
  // Collectives that had to run otherwise than scenarios::Network asks: "all_gather (ring)", sorted.
  std::vector<std::string> disobedient;
};

UndisturbedTime undisturbed_time(const schedule::Schedule& schedule, const KernelCost& cost,
                                 const NetworkModel& network, const scenarios::Network& wanted);

}  // namespace orrery::sim
