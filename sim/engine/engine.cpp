// See engine.h. `advance` starts what can start on one stream; everything that ends calls it for the streams
// that may have waited for that.
#include "sim/engine/engine.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "sim/engine/engine_state.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/mix.h"
#include "sim/engine/transfer_sharing.h"

namespace orrery::sim::engine {
namespace {

using schedule::kStreams;

constexpr unsigned kComputeShare = static_cast<unsigned>(Share::compute);
constexpr unsigned kFirstGroupShare = static_cast<unsigned>(Share::exposed_tensor);
constexpr unsigned kCopyShare = static_cast<unsigned>(Share::copy);
constexpr unsigned kHostShare = static_cast<unsigned>(Share::host);
// However many SMs communication takes, kernels keep this part of the GPU. Assumed: NCCL's kernels take at
// most 32 of an A100's 108 SMs, so it is reached only where several transfers run at once, of which nobody
// measured what they leave.
constexpr std::int32_t kSmsKept = 8;  // 1 / 8

constexpr std::int64_t kNotReady = -1;

bool is_kernel(Work work) { return work == Work::bound_kernel || work == Work::kernel; }

class Engine {
 public:
  explicit Engine(const EngineInput& input)
      : input_(input),
        state_(input),
        sharing_(input.cast.resources, state_.most_loads),
        shares_cores_(input.cast.cores > 0),
        accounts_(state_.actors.size()) {
    std::int64_t busy_streams = 0;
    for (const ActorState& actor : state_.actors)
      for (const std::uint32_t length : actor.flat->length) busy_streams += length > 0 ? 1 : 0;
    unfinished_.assign(static_cast<std::size_t>(input.steps) + 1, busy_streams);
    queue_.reserve(state_.progress.size() * 2);
    dirty_actors_.reserve(state_.actors.size());
    start_.resize(input.trace ? state_.streams.size() : 0);
    ready_.resize(start_.size(), kNotReady);
  }

  Run run() {
    const auto last = static_cast<std::size_t>(input_.steps) - 1;
    for (std::uint32_t a = 0; a < state_.actors.size(); ++a)
      for (std::uint32_t s = 0; s < kStreams; ++s) advance(a, s);
    settle();
    while (unfinished_[last] > 0) {
      if (queue_.empty()) {
        run_.deadlocked = true;
        run_.deadlock = deadlock_report(input_, state_);
        return std::move(run_);
      }
      state_.now = queue_.top().time;
      do {
        const Event event = queue_.top();
        queue_.pop();
        apply(event);
      } while (!queue_.empty() && queue_.top().time == state_.now);
      settle();
      if (std::exchange(window_opens_, false)) note_leads(input_.steps - 1);
    }
    note_leads(input_.steps);
    finish();
    return std::move(run_);
  }

 private:
  void apply(const Event& event) {
    Progress& p = state_.progress[event.entity];
    if (p.queued != event.time) return;  // it ended, or was hurried on, before
    p.queued = kNotQueued;
    const bool transfer = event.entity >= state_.streams.size();
    const bool wakes = !transfer && state_.streams[event.entity].waking;
    if (!wakes && p.end > event.time) {
      queue(event.entity, p.end);  // it was slowed
    } else if (transfer) {
      end_transfer(event.entity - static_cast<std::uint32_t>(state_.streams.size()));
    } else {
      const auto actor = static_cast<std::uint32_t>(event.entity / kStreams);
      const auto stream = static_cast<std::uint32_t>(event.entity % kStreams);
      if (wakes) {
        state_.streams[event.entity].waking = false;
        accounts_[actor].remove(state_.now, kHostShare);
      } else {
        end_local(actor, stream);
      }
      advance(actor, stream);
    }
  }

  void queue(std::uint32_t entity, std::int64_t time) {
    state_.progress[entity].queued = time;
    queue_.push({time, entity});
  }

  // --- starting
  // ---------------------------------------------------------------------------------------------------

  void advance(std::uint32_t actor, std::uint32_t stream) {
    StreamState& s = state_.streams[actor * kStreams + stream];
    const ActorState& a = state_.actors[actor];
    const FlatProgram& flat = *a.flat;
    if (s.running > 0 || s.waking || flat.length[stream] == 0) return;
    // Ranks may go on into the step after the last one, so that their end of a step is not idler than in the
    // middle of a long run; not further.
    while (s.step <= input_.steps) {
      const std::uint32_t at = flat.first[stream] + static_cast<std::uint32_t>(s.next);
      const FlatOp& op = flat.ops[at];
      if (!waits_are_over(actor, stream, s, op) || !is_issued(actor, stream, s, op)) return;
      if (op.work == Work::host_wait) {
        pass_host_wait(actor, s, op, at);
      } else if (op.work == Work::message) {
        s.running = static_cast<std::uint8_t>(op.run);
        for (std::uint32_t i = 0; i < op.run; ++i) post(actor, stream, at + i);
        return;
      } else {
        s.running = 1;
        start_local(actor, stream, op, at);
        return;
      }
    }
  }

  bool waits_are_over(std::uint32_t actor, std::uint32_t stream, const StreamState& s, const FlatOp& op) {
    const FlatProgram& flat = *state_.actors[actor].flat;
    StreamState* streams = state_.streams.data() + actor * kStreams;
    for (std::uint32_t w = op.first_wait; w < op.first_wait + op.waits; ++w) {
      const Wait& wait = flat.waits[w];
      StreamState& awaited = streams[wait.stream];
      if (awaited.completed < s.step * static_cast<std::int32_t>(flat.length[wait.stream]) + wait.target) {
        awaited.blocked = static_cast<std::uint16_t>(awaited.blocked | 1U << stream);
        return false;
      }
    }
    return true;
  }

  bool is_issued(std::uint32_t actor, std::uint32_t stream, StreamState& s, const FlatOp& op) {
    const ActorState& a = state_.actors[actor];
    const std::int64_t index = std::int64_t{s.step} * a.flat->host_ops + op.host;
    if (index > a.host_limit) {
      StreamState& host = state_.streams[actor * kStreams + kHostStream];
      host.blocked = static_cast<std::uint16_t>(host.blocked | 1U << stream);
      return false;
    }
    const std::int64_t issued = a.host_base + (index + 1 - a.host_index) * input_.issue_cost;
    if (issued <= state_.now) return true;
    s.waking = true;
    accounts_[actor].add(state_.now, kHostShare);
    if (input_.trace) ready_[actor * kStreams + stream] = state_.now;
    queue(static_cast<std::uint32_t>(actor * kStreams) + stream, issued);
    return false;
  }

  void pass_host_wait(std::uint32_t actor, StreamState& s, const FlatOp& op, std::uint32_t at) {
    ActorState& a = state_.actors[actor];
    const std::int64_t index = std::int64_t{s.step} * a.flat->host_ops + op.host;
    const std::int64_t reached = a.host_base + (index + 1 - a.host_index) * input_.issue_cost;
    note_event(actor, at, s.step);
    note_event(actor, at, s.step);
    a.host_base = state_.now;
    a.host_index = index + 1;
    if (input_.trace) {
      ready_[actor * kStreams + kHostStream] = kNotReady;
      record(actor, kHostStream, at, reached, reached);
    }
    // The next host_wait bounds what the host can issue; it must be known before anybody else is woken.
    const auto length = static_cast<std::int32_t>(a.flat->length[kHostStream]);
    const bool wraps = s.next + 1 == length;
    const std::uint32_t next =
        a.flat->first[kHostStream] + (wraps ? 0U : static_cast<std::uint32_t>(s.next) + 1);
    a.host_limit = std::int64_t{s.step + (wraps ? 1 : 0)} * a.flat->host_ops + a.flat->ops[next].host;
    complete(actor, kHostStream, s, op);
  }

  void start_local(std::uint32_t actor, std::uint32_t stream, const FlatOp& op, std::uint32_t at) {
    ActorState& a = state_.actors[actor];
    const auto entity = static_cast<std::uint32_t>(actor * kStreams) + stream;
    Progress& p = state_.progress[entity];
    p.since = state_.now;
    p.left = a.durations[op.op];
    p.rate = kFullRate;
    p.end = state_.now + p.left;
    queue(entity, p.end);
    note_event(actor, at, state_.streams[entity].step);
    if (input_.trace) {
      start_[entity] = state_.now;
      if (ready_[entity] == kNotReady) ready_[entity] = state_.now;
    }
    if (is_kernel(op.work)) {
      accounts_[actor].add(state_.now, kComputeShare);
      if (!shares_cores_ && (++a.kernels > 1 || a.taken_sms > 0)) mark_dirty(actor);
    } else {
      accounts_[actor].add(state_.now, op.work == Work::copy ? kCopyShare : kHostShare);
    }
    if (shares_cores_) take_core(actor, entity);
  }

  void take_core(std::uint32_t actor, std::uint32_t entity) {
    const Actor& cast = input_.cast.actors[actor];
    state_.core_rates[entity] = kFullRate;
    sharing_.begin(sharer_of_stream(entity), {&cast.core, 1});
    ++state_.actors[actor].kernels;
    NodeState& node = state_.nodes[cast.core.resource];
    node.busy += cast.ranks_on_node;
    if (node.busy > 1) mark_node_dirty(node);
  }

  void give_core_back(std::uint32_t actor, std::uint32_t entity) {
    const Actor& cast = input_.cast.actors[actor];
    sharing_.end(sharer_of_stream(entity));
    --state_.actors[actor].kernels;
    NodeState& node = state_.nodes[cast.core.resource];
    node.busy -= cast.ranks_on_node;
    if (node.busy > 0) mark_node_dirty(node);
  }

  std::uint32_t sharer_of_stream(std::uint32_t entity) const {
    return static_cast<std::uint32_t>(state_.meetings.size()) + entity;
  }

  void mark_node_dirty(const NodeState& node) {
    for (const std::uint32_t actor : node.actors)
      if (state_.actors[actor].kernels > 0) mark_dirty(actor);
  }

  void post(std::uint32_t actor, std::uint32_t stream, std::uint32_t at) {
    const FlatOp& op = state_.actors[actor].flat->ops[at];
    const PortUse& port = state_.actors[actor].ports[op.port];
    const std::uint32_t slot = state_.slot_base[port.place] + op.slot;
    Meeting& meeting = state_.meetings[slot];
    CHECK(!meeting.active && (meeting.arrived == 0 || meeting.kind == port.kind),
          "members disagree about a message: verify the schedule first", actor, op.op);
    const auto entity = static_cast<std::uint32_t>(actor * kStreams) + stream;
    if (input_.trace) ready_[entity] = kNotReady;
    state_.arrivals[meeting.first + meeting.arrived++] = {entity, at, state_.now};
    meeting.kind = port.kind;
    if (meeting.arrived == meeting.needed)
      begin_transfer(slot);
    else if (const unsigned waits = waits_as(port.kind); waits != 0)
      accounts_[actor].add(state_.now, waits);
  }

  // How a side that has come alone is counted; 0: not at all.
  unsigned waits_as(std::uint32_t kind) const {
    const TransferKind& k = input_.cast.kinds[kind];
    if (k.across) return kBubble;
    return holds_computation(static_cast<schedule::GroupKind>(k.group)) ? kHeldUp : 0;
  }

  void begin_transfer(std::uint32_t slot) {
    Meeting& meeting = state_.meetings[slot];
    const TransferKind& kind = input_.cast.kinds[meeting.kind];
    const unsigned waited = waits_as(meeting.kind);
    meeting.active = true;
    meeting.start = state_.now;
    for (std::uint32_t i = 0; i < meeting.needed; ++i) {
      const Arrival& arrival = state_.arrivals[meeting.first + i];
      const auto actor = static_cast<std::uint32_t>(arrival.entity / kStreams);
      if (i + 1 < meeting.needed && waited != 0) accounts_[actor].remove(state_.now, waited);
      accounts_[actor].add(state_.now, kFirstGroupShare + kind.group);
      take_sms(actor, kind.sms);
      note_event(actor, arrival.flat_op, state_.streams[arrival.entity].step);
    }
    Progress& p = state_.progress[state_.entity_of_slot(slot)];
    p.since = state_.now;
    p.left = kind.time;
    p.rate = kFullRate;
    p.end = state_.now + p.left;
    queue(state_.entity_of_slot(slot), p.end);
    if (kind.loads > 0) sharing_.begin(slot, {input_.cast.loads.data() + kind.first_load, kind.loads});
  }

  void take_sms(std::uint32_t actor, std::int32_t sms) {
    if (sms == 0) return;
    ActorState& a = state_.actors[actor];
    a.taken_sms += sms;
    if (a.kernels > 0) mark_dirty(actor);
  }

  // --- ending
  // -----------------------------------------------------------------------------------------------------

  void end_local(std::uint32_t actor, std::uint32_t stream) {
    ActorState& a = state_.actors[actor];
    StreamState& s = state_.streams[actor * kStreams + stream];
    const std::uint32_t at = a.flat->first[stream] + static_cast<std::uint32_t>(s.next);
    const FlatOp& op = a.flat->ops[at];
    if (is_kernel(op.work)) {
      accounts_[actor].remove(state_.now, kComputeShare);
      if (!shares_cores_ && --a.kernels > 0) mark_dirty(actor);
    } else {
      accounts_[actor].remove(state_.now, op.work == Work::copy ? kCopyShare : kHostShare);
    }
    if (shares_cores_) give_core_back(actor, static_cast<std::uint32_t>(actor * kStreams) + stream);
    note_event(actor, at, s.step);
    if (input_.trace) {
      const std::size_t entity = actor * kStreams + stream;
      record(actor, stream, at, std::exchange(ready_[entity], kNotReady), start_[entity]);
    }
    s.running = 0;
    complete(actor, stream, s, op);
  }

  void end_transfer(std::uint32_t slot) {
    Meeting& meeting = state_.meetings[slot];
    const TransferKind& kind = input_.cast.kinds[meeting.kind];
    if (kind.loads > 0) sharing_.end(slot);
    meeting.active = false;
    meeting.arrived = 0;
    // A member that goes on may come to the next meeting in this slot at once; it then takes an arrival's
    // place that has been dealt with, because each of the others still has its own ahead of it.
    for (std::uint32_t i = 0; i < meeting.needed; ++i) {
      const Arrival arrival = state_.arrivals[meeting.first + i];
      const auto actor = static_cast<std::uint32_t>(arrival.entity / kStreams);
      const auto stream = static_cast<std::uint32_t>(arrival.entity % kStreams);
      StreamState& s = state_.streams[arrival.entity];
      accounts_[actor].remove(state_.now, kFirstGroupShare + kind.group);
      take_sms(actor, -kind.sms);
      note_event(actor, arrival.flat_op, s.step);
      if (input_.trace) record(actor, stream, arrival.flat_op, arrival.ready, meeting.start);
      if (--s.running > 0) continue;
      const FlatProgram& flat = *state_.actors[actor].flat;
      complete(actor, stream, s, flat.ops[flat.first[stream] + static_cast<std::uint32_t>(s.next)]);
      advance(actor, stream);
    }
  }

  // The run at the head of the stream is over.
  void complete(std::uint32_t actor, std::uint32_t stream, StreamState& s, const FlatOp& op) {
    if (op.loop_end != 0 && s.step == input_.steps - 1)
      run_.loop_ends.push_back({actor, op.loop_end, stream, state_.now - window_});
    s.completed += op.run;
    s.next += op.run;
    if (s.next == static_cast<std::int32_t>(state_.actors[actor].flat->length[stream])) {
      s.next = 0;
      end_step(s.step++);
    }
    std::uint32_t waiting = s.blocked;
    s.blocked = 0;
    for (; waiting != 0; waiting &= waiting - 1)
      advance(actor, static_cast<std::uint32_t>(std::countr_zero(waiting)));
  }

  void end_step(std::int32_t step) {
    if (--unfinished_[static_cast<std::size_t>(step)] > 0 || step != input_.steps - 2) return;
    window_ = state_.now;
    for (Account& account : accounts_) account.restart(state_.now);
    window_opens_ = true;
  }

  void note_leads(int steps) {
    for (std::size_t e = 0; e < state_.streams.size(); ++e) {
      const auto length = static_cast<std::int32_t>(state_.actors[e / kStreams].flat->length[e % kStreams]);
      run_.leads.push_back(state_.streams[e].completed - steps * length);
    }
  }

  // --- rates
  // ------------------------------------------------------------------------------------------------------

  void mark_dirty(std::uint32_t actor) {
    if (state_.actors[actor].dirty || !input_.share) return;
    state_.actors[actor].dirty = true;
    dirty_actors_.push_back(actor);
  }

  void settle() {
    if (sharing_.changed())
      sharing_.settle([&](std::uint32_t sharer, std::int64_t rate) {
        const auto slots = static_cast<std::uint32_t>(state_.meetings.size());
        if (sharer < slots) return set_rate(state_.entity_of_slot(sharer), rate);
        state_.core_rates[sharer - slots] = rate;
        mark_dirty(static_cast<std::uint32_t>((sharer - slots) / kStreams));
      });
    for (const std::uint32_t actor : dirty_actors_)
      shares_cores_ ? settle_on_cores(actor) : settle_kernels(actor);
    dirty_actors_.clear();
  }

  // What runs has its share of a core, and goes slower for every other kernel that runs on the machine, since they
  // share its caches and memory. At most as many run at once as there are cores.
  void settle_on_cores(std::uint32_t actor) {
    ActorState& a = state_.actors[actor];
    a.dirty = false;
    const std::int64_t others = std::min<std::int64_t>(
        state_.nodes[input_.cast.actors[actor].core.resource].busy - 1, input_.cast.cores - 1);
    for (std::uint32_t s = 0; s < kStreams && a.kernels > 0; ++s) {
      const StreamState& stream = state_.streams[actor * kStreams + s];
      if (stream.running == 0) continue;
      const FlatOp& op = a.flat->ops[a.flat->first[s] + static_cast<std::uint32_t>(stream.next)];
      if (op.work == Work::message) continue;
      const auto entity = static_cast<std::uint32_t>(actor * kStreams) + s;
      const std::int64_t slowdown = kContentionUnit + others * a.contention[op.op];
      set_rate(entity, std::max<std::int64_t>(1, state_.core_rates[entity] * kContentionUnit / slowdown));
    }
  }

  // Kernels that run at once share their GPU evenly; those bound by SMs have only what communication leaves
  // of them.
  void settle_kernels(std::uint32_t actor) {
    ActorState& a = state_.actors[actor];
    a.dirty = false;
    for (std::uint32_t s = 0; s < kStreams && a.kernels > 0; ++s) {
      const StreamState& stream = state_.streams[actor * kStreams + s];
      if (stream.running == 0) continue;
      const FlatOp& op = a.flat->ops[a.flat->first[s] + static_cast<std::uint32_t>(stream.next)];
      if (!is_kernel(op.work)) continue;
      std::int64_t rate = kFullRate / a.kernels;
      if (op.work == Work::bound_kernel && input_.gpu_sms > 0) {
        const std::int64_t sms =
            std::max(input_.gpu_sms - a.taken_sms, std::max(input_.gpu_sms / kSmsKept, 1));
        rate = kFullRate * sms / (std::int64_t{input_.gpu_sms} * a.kernels);
      }
      set_rate(static_cast<std::uint32_t>(actor * kStreams) + s, rate);
    }
  }

  void set_rate(std::uint32_t entity, std::int64_t rate) {
    Progress& p = state_.progress[entity];
    if (p.rate == rate) return;
    __extension__ using Wide = __int128;
    p.left -= static_cast<std::int64_t>(Wide{state_.now - p.since} * p.rate / kFullRate);
    p.since = state_.now;
    p.rate = rate;
    const Wide end = state_.now + (Wide{p.left} * kFullRate + rate - 1) / rate;
    CHECK(end <= std::numeric_limits<std::int64_t>::max(), "106 days are over", state_.now, p.left);
    p.end = static_cast<std::int64_t>(end);
    if (p.end < p.queued) queue(entity, p.end);
  }

  // --- what is told about it
  // --------------------------------------------------------------------------------------

  void note_event(std::uint32_t actor, std::uint32_t flat_op, std::int32_t step) {
    ++run_.events;
    const auto op = static_cast<std::uint64_t>(static_cast<std::uint32_t>(step)) << 56 ^
                    static_cast<std::uint64_t>(input_.cast.actors[actor].rank) << 32 ^ flat_op;
    run_.fingerprint += mix(static_cast<std::uint64_t>(state_.now) * 0x9e3779b97f4a7c15ULL ^ op);
  }

  void record(std::uint32_t actor, std::uint32_t stream, std::uint32_t at, std::int64_t ready,
              std::int64_t start) {
    const StreamState& s = state_.streams[actor * kStreams + stream];
    if (s.step >= input_.steps || s.step < input_.steps - input_.traced_steps) return;
    const FlatProgram& flat = *state_.actors[actor].flat;
    run_.trace.push_back({.rank = input_.cast.actors[actor].rank,
                          .op = flat.origins[at].host,
                          .call = flat.origins[at].call,
                          .op_in_program = flat.ops[at].op,
                          .microbatch = flat.origins[at].microbatch,
                          .step = s.step,
                          .ready = Time::from_ps(ready),
                          .start = Time::from_ps(start),
                          .end = Time::from_ps(state_.now)});
  }

  void finish() {
    run_.step_time = state_.now - window_;
    for (Account& account : accounts_) account.close(state_.now);
    run_.accounts = std::move(accounts_);
    std::sort(run_.loop_ends.begin(), run_.loop_ends.end(), [](const LoopEnd& a, const LoopEnd& b) {
      return std::tie(a.actor, a.loop, a.stream) < std::tie(b.actor, b.loop, b.stream);
    });
    std::sort(run_.trace.begin(), run_.trace.end(), [](const TraceRecord& a, const TraceRecord& b) {
      return std::tie(a.end, a.rank, a.op) < std::tie(b.end, b.rank, b.op);
    });
  }

  const EngineInput& input_;
  State state_;
  EventQueue queue_;
  TransferSharing sharing_;
  const bool shares_cores_;  // kernels take cores of a machine that others take too
  std::vector<Account> accounts_;
  std::vector<std::uint32_t> dirty_actors_;
  std::vector<std::int64_t> unfinished_;  // [step]: streams that have not ended it
  std::vector<std::int64_t> start_;       // [entity], for traces: of the running op
  std::vector<std::int64_t> ready_;       // the same; kNotReady: nothing is running or waits to be issued
  std::int64_t window_ = 0;               // when the last step began
  bool window_opens_ = false;             // in this instant
  Run run_;
};

}  // namespace

Run run_engine(const EngineInput& input) { return Engine(input).run(); }

}  // namespace orrery::sim::engine
