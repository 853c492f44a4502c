// The engine's state, as flat arrays: what the event loop changes and the deadlock report reads.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/engine/sharing.h"

namespace orrery::sim::engine {

inline constexpr std::int64_t kNotQueued = std::numeric_limits<std::int64_t>::max();
inline constexpr std::uint32_t kHostStream = static_cast<std::uint32_t>(schedule::Stream::host);

struct StreamState {
  std::int32_t next = 0;       // position of the next, or running, op
  std::int32_t completed = 0;  // ops, over all steps
  std::int32_t step = 0;
  std::uint16_t blocked = 0;  // streams of the actor that wait for this one to complete something
  std::uint8_t running = 0;   // ops of the current run that have not ended
  bool waking = false;        // waits only for the host to issue its next op
};

// Something that takes time: the running op of a stream, or a transfer.
struct Progress {
  std::int64_t end = 0;
  std::int64_t queued = kNotQueued;  // the time of its valid entry in the queue
  std::int64_t since = 0;            // when `left` and `rate` were last set
  std::int64_t left = 0;             // ps of undisturbed work
  std::int64_t rate = kFullRate;
};

struct ActorState {
  const FlatProgram* flat = nullptr;
  const std::int64_t* durations = nullptr;  // [op]
  const std::uint32_t* contention = nullptr;  // [op]
  const PortUse* ports = nullptr;
  std::int64_t host_base = 0;  // the host issues op h of its list at host_base + (h + 1 - host_index) * cost,
  std::int64_t host_index = 0;  // h counted over all steps,
  std::int64_t host_limit = 0;  // for h up to its next host_wait
  std::int32_t taken_sms = 0;   // by transfers
  std::uint16_t kernels = 0;    // running; where cores are shared: everything that takes one
  bool dirty = false;           // rates of its kernels may have changed
};

// A machine whose cores are shared; one for each resource, most of which are none.
struct NodeState {
  std::vector<std::uint32_t> actors;
  std::int64_t busy = 0;  // kernels that run, of all ranks that its actors stand for
};

struct Meeting {
  std::uint32_t first = 0;  // into arrivals
  std::uint32_t needed = 0, arrived = 0;
  std::uint32_t kind = 0;
  std::int64_t start = 0;
  bool active = false;
};

struct Arrival {
  std::uint32_t entity = 0;  // stream that posted
  std::uint32_t flat_op = 0;
  std::int64_t ready = 0;
};

struct State {
  std::int64_t now = 0;
  std::vector<ActorState> actors;
  std::vector<StreamState> streams;  // [actor * kStreams + stream]
  std::vector<Progress> progress;    // the same, then [slot]
  std::vector<Meeting> meetings;     // [slot]
  std::vector<Arrival> arrivals;
  std::vector<std::uint32_t> slot_base;   // [place]
  // What shares resources: transfers [slot], then, where cores are shared, what runs on a stream [slots + stream].
  std::vector<std::uint32_t> most_loads;
  std::vector<NodeState> nodes;          // [resource], where cores are shared
  std::vector<std::int64_t> core_rates;  // [stream], where cores are shared: what its op has of a core

  explicit State(const EngineInput& input);
  std::uint32_t entity_of_slot(std::uint32_t slot) const {
    return static_cast<std::uint32_t>(streams.size()) + slot;
  }
};

// One line for the head of every stream that waits: who, where in the program, for what.
std::vector<std::string> deadlock_report(const EngineInput& input, const State& state);

}  // namespace orrery::sim::engine
