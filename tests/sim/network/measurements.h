// Public measurements of collectives (nccl-tests tables, AIConfigurator), read from ../shared/data/collectives where that
// folder exists. Only tables whose hardware is known and that their collector did not mark as anomalous are used.
#pragma once

#include <string>
#include <vector>

#include "hardware/cluster.h"
#include "scenarios/scenario.h"
#include "schedule/op.h"

namespace orrery::sim {

struct Measurement {
  double bytes = 0.0, time_us = 0.0;
};

struct MeasuredCurve {
  std::string name;     // "a100_4n8_ib_allreduce_deepops", "A100-SXM4-80GB all_gather 8"
  std::string cluster;  // JSON of the cluster that it ran on
  schedule::OpKind kind = schedule::OpKind::all_reduce;
  std::int64_t ranks = 0;
  scenarios::Algorithm forced = scenarios::Algorithm::automatic;
  bool in_table = true;  // false: shown, but its fabric has troubles of its own (see measurements.cpp)
  std::vector<Measurement> points;
};

bool measurements_exist();
std::vector<MeasuredCurve> measured_curves();

}  // namespace orrery::sim
