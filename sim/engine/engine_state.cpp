// Lays out the flat arrays: one stream state per actor and stream, one meeting per slot of a place.
#include "sim/engine/engine_state.h"

namespace orrery::sim::engine {

State::State(const EngineInput& input) {
  const Cast& cast = input.cast;
  for (const Actor& actor : cast.actors) {
    const FlatProgram& flat = input.flats[actor.program];
    const bool waits = flat.length[kHostStream] > 0;
    actors.push_back({.flat = &flat,
                      .durations = cast.durations[actor.profile].data(),
                      .contention = cast.contention[actor.profile].data(),
                      .ports = cast.ports.data() + actor.first_port,
                      .host_limit = waits ? flat.ops[flat.first[kHostStream]].host
                                          : std::numeric_limits<std::int64_t>::max()});
  }
  streams.resize(actors.size() * schedule::kStreams);
  std::uint32_t arrivals_needed = 0;
  for (const Place& place : cast.places) {
    slot_base.push_back(static_cast<std::uint32_t>(meetings.size()));
    for (std::uint32_t i = 0; i < input.slots_of_channel[place.channel]; ++i) {
      meetings.push_back({.first = arrivals_needed, .needed = place.needed});
      most_loads.push_back(place.most_loads);
      arrivals_needed += place.needed;
    }
  }
  arrivals.resize(arrivals_needed);
  progress.resize(streams.size() + meetings.size());
  if (cast.cores == 0) return;
  most_loads.resize(meetings.size() + streams.size(), 1);
  core_rates.resize(streams.size(), kFullRate);
  nodes.resize(cast.resources);
  for (std::uint32_t a = 0; a < cast.actors.size(); ++a) nodes[cast.actors[a].core.resource].actors.push_back(a);
}

}  // namespace orrery::sim::engine
