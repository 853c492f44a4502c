// The cast of a simulation: one actor for each class of ranks, the places where actors meet, and what a
// transfer there takes and loads.
//
// A resource of the simulation stands for a class of equal resources, each with capacity kFullLoad. Where all
// the meetings of a class run at once, a resource carries every one of them that touches it: a transfer's
// weight on it is the sum over those meetings of min(kFullLoad, what the meeting's members load there
// together). A NIC shared by two ranks of a class that talk to two different groups thus has double weight; a
// transfer alone never exceeds its own undisturbed speed, since its plan already knows that its members share
// a NIC.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cost/kernel_cost.h"
#include "sim/engine/rank_classes.h"

namespace orrery::sim::engine {

struct Actor {
  std::int64_t rank = 0;   // the representative
  std::int64_t ranks = 1;  // how many it stands for
  std::uint32_t program = 0;
  std::uint32_t profile = 0;     // whose durations it has: program and speed
  std::uint32_t first_port = 0;  // into Cast::ports
};

struct TransferKind {
  std::int64_t time = 0;   // ps, undisturbed
  std::int32_t sms = 0;    // taken from each member
  std::uint8_t group = 3;  // tensor, data, pipe, other
  bool across = false;     // joins ranks of different programs: who waits here waits for a pipeline neighbour
  std::uint32_t first_load = 0, loads = 0;
};

// A channel's instance, or all instances of a class.
struct Place {
  std::uint32_t channel = 0;
  std::int64_t instance = 0;  // a representative
  std::uint32_t needed = 0;   // arrivals until a transfer begins
  std::uint32_t most_loads = 0;
};

struct PortUse {
  std::uint32_t place = 0;
  std::uint32_t kind = 0;
};

struct Cast {
  std::vector<Actor> actors;
  std::vector<Place> places;
  std::vector<TransferKind> kinds;
  std::vector<Load> loads;  // resources numbered from 0
  std::uint32_t resources = 0;
  std::vector<PortUse> ports;
  std::vector<std::vector<std::int64_t>> durations;  // [profile][op], ps; 0 for messages
};

struct CastInput {
  const schedule::Schedule& schedule;
  const hardware::Cluster& cluster;
  const KernelCost& cost;
  const NetworkModel& network;
  const Messages& messages;
  const PlanTable& plans;
  const ResourceUse& use;
  const RankClasses& classes;
  bool share = true;  // transfers load resources and take SMs
};
Cast make_cast(const CastInput& input);

}  // namespace orrery::sim::engine
