// The event loop. An op starts when its stream has come to it, its waits are over and its host has issued it;
// a message is then posted, and its transfer begins when every side has been posted (rendezvous) and ends for
// all at once.
//
// - Time is integer picoseconds. Events are ordered by (time, entity); all events of an instant are applied,
// and what
//   they let start is started, before rates are solved. Nothing in an instant depends on the order of its
//   events.
// - An entity is a stream of an actor (its running op) or a meeting slot (its transfer). It has at most one
// valid entry
//   in the queue. An op that was slowed leaves its entry where it was, and is put back when the entry comes
//   up.
// - An op is one event in the queue (its end); a start needs one only where it is bound by the host's issue
// time.
// - Nothing is allocated in the loop, except trace records.
//
// Cost: about O(log actors) an op.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/engine/account.h"
#include "sim/engine/actors.h"
#include "sim/engine/flat_program.h"
#include "sim/engine/simulation.h"

namespace orrery::sim::engine {

struct EngineInput {
  const schedule::Schedule& schedule;
  const Messages& messages;
  const RankClasses& classes;
  const Cast& cast;
  const std::vector<FlatProgram>& flats;  // [program]
  const std::vector<std::uint32_t>& slots_of_channel;
  std::int64_t issue_cost = 0;  // ps, of one op
  std::int32_t gpu_sms = 0;     // 0: communication does not slow kernels
  bool share = true;            // false: nothing slows anything
  int steps = 2;
  bool trace = false;
  int traced_steps = 1;
};

// When a stream completed the last op of a repeat that was cut short, in the last step.
struct LoopEnd {
  std::uint32_t actor = 0;
  std::uint32_t loop = 0;
  std::uint32_t stream = 0;
  std::int64_t time = 0;  // ps, since the step began
};

struct Run {
  std::int64_t step_time = 0;     // ps
  std::vector<Account> accounts;  // [actor], of the last step
  // How many ops each stream is ahead of the step's end, when the last step begins and when it ends.
  std::vector<std::int32_t> leads;
  std::vector<LoopEnd> loop_ends;  // ordered by (actor, loop, stream)
  std::vector<TraceRecord> trace;  // ordered by (end, rank, op)
  std::uint64_t events = 0;
  std::uint64_t fingerprint = 0;
  bool deadlocked = false;
  std::vector<std::string> deadlock;
};

Run run_engine(const EngineInput& input);

}  // namespace orrery::sim::engine
