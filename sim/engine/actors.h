// The cast of a simulation: one actor for each class of ranks, the places where actors meet, and what a
// transfer there takes and loads.
//
// A resource of the simulation stands for a class of equal resources, each with capacity kFullLoad. Where all
// the meetings of a class run at once, a resource carries every one of them that touches it: a transfer's
// weight on it is the sum over those meetings of min(kFullLoad, what the meeting's members load there
// together). A NIC shared by two ranks of a class that talk to two different groups thus has double weight; a
// transfer alone never exceeds its own undisturbed speed, since its plan already knows that its members share
// a NIC.
//
// Where ranks share the cores of a machine (NetworkModel::cores_of), kernels load that resource too: one core for each
// rank of the class on it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/cost/kernel_cost.h"
#include "sim/engine/rank_classes.h"

namespace orrery::sim::engine {

inline constexpr std::int64_t kContentionUnit = 65536;

struct Actor {
  std::int64_t rank = 0;   // the representative
  std::int64_t ranks = 1;  // how many it stands for
  std::uint32_t program = 0;
  std::uint32_t profile = 0;     // whose durations it has: program and speed
  std::uint32_t first_port = 0;  // into Cast::ports
  Load core{};                   // of its machine's cores, by a kernel of every rank of the class there; 0: not shared
  std::uint32_t ranks_on_node = 1;  // of the class, on the machine of the representative
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
  // Where cores are shared: by how much each other kernel on the machine slows this one, in 1/65536 of its time.
  std::vector<std::vector<std::uint32_t>> contention;  // [profile][op]
  std::uint32_t cores = 0;                             // of a machine; 0: not shared
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
  // Where experts are not equally popular: the schedule as it is for ranks that receive so many rows.
  const std::map<std::int64_t, schedule::Schedule>& by_rows;
  bool share = true;  // transfers load resources and take SMs
};
Cast make_cast(const CastInput& input);

}  // namespace orrery::sim::engine
