// Says, when nothing can happen any more, what every rank's streams wait for. Lines read like
//
//     rank 0: send on pipe_send_forward (block forward, microbatch 2, step 0) waits for rank 1 to recv
//     rank 1: gemm on compute (block forward, microbatch 2, step 0) waits for recv on pipe_recv_forward
#include <fmt/format.h>

#include <algorithm>

#include "sim/engine/engine_state.h"

namespace orrery::sim::engine {
namespace {

using schedule::kStreams;
using schedule::Program;
using schedule::Stream;

class Reporter {
 public:
  Reporter(const EngineInput& input, const State& state) : in_(input), state_(state) {}

  std::vector<std::string> lines() {
    for (actor_ = 0; actor_ < state_.actors.size(); ++actor_) {
      flat_ = state_.actors[actor_].flat;
      for (stream_ = 0; stream_ < kStreams; ++stream_) {
        const StreamState& s = stream(stream_);
        if (flat_->length[stream_] == 0 || s.step >= in_.steps) continue;
        const std::uint32_t head = flat_->first[stream_] + static_cast<std::uint32_t>(s.next);
        if (s.running == 0) say(head, reason(s, flat_->ops[head]));
        for (std::uint32_t i = 0; s.running > 0 && i < flat_->ops[head].run; ++i) report_message(head + i);
      }
    }
    return std::move(lines_);
  }

 private:
  const Actor& actor() const { return in_.cast.actors[actor_]; }
  const Program& program() const { return in_.schedule.programs[actor().program]; }
  const StreamState& stream(std::uint32_t s) const { return state_.streams[actor_ * kStreams + s]; }
  std::string_view kind_of(std::uint32_t at) const {
    return schedule::name(program().ops[flat_->ops[at].op].kind);
  }

  void say(std::uint32_t at, const std::string& why) {
    const FlatOrigin& origin = flat_->origins[at];
    const std::string like =
        actor().ranks > 1 ? fmt::format(" (and {} ranks like it)", actor().ranks - 1) : "";
    lines_.push_back(fmt::format("rank {}{}: {} on {} (block {}, microbatch {}, step {}) {}", actor().rank,
                                 like, kind_of(at), schedule::name(static_cast<Stream>(stream_)),
                                 program().block(program().calls[origin.call]).name, origin.microbatch,
                                 stream(stream_).step, why));
  }

  // Why an op at the head of its stream has not started.
  std::string reason(const StreamState& s, const FlatOp& op) const {
    for (std::uint32_t w = op.first_wait; w < op.first_wait + op.waits; ++w) {
      const Wait& wait = flat_->waits[w];
      const auto length = static_cast<std::int32_t>(flat_->length[wait.stream]);
      if (stream(wait.stream).completed >= s.step * length + wait.target) continue;
      const std::int32_t position = ((wait.target - 1) % length + length) % length;
      return fmt::format("waits for {} on {}",
                         kind_of(flat_->first[wait.stream] + static_cast<std::uint32_t>(position)),
                         schedule::name(static_cast<Stream>(wait.stream)));
    }
    return "is not issued: the host is in a host_wait before it";
  }

  void report_message(std::uint32_t at) {
    const FlatOp& op = flat_->ops[at];
    const Port& port = in_.messages.ports[actor().program][op.port];
    const Relation& relation = in_.messages.relations[in_.messages.relation_of(port.message)];
    const Meeting& meeting =
        state_.meetings[state_.slot_base[state_.actors[actor_].ports[op.port].place] + op.slot];
    if (!posted(meeting, at)) return;  // this one of the run has ended
    std::vector<std::int64_t> members;
    members_of(in_.schedule, relation, instance_of(in_.schedule, relation, actor().rank, port.side), members);
    if (port.side != Side::member) {
      const bool sends = port.side == Side::sender;
      say(at, fmt::format("waits for rank {} to {}", members[sends ? 1 : 0], sends ? "recv" : "send"));
      return;
    }
    std::erase_if(members, [&](std::int64_t rank) { return has_come(meeting, rank); });
    say(at, fmt::format("waits for rank{} {} of group {}", members.size() == 1 ? "" : "s",
                        fmt::join(members, ", "), in_.schedule.groups[relation.group].name));
  }

  bool posted(const Meeting& meeting, std::uint32_t at) const {
    for (std::uint32_t i = 0; i < meeting.arrived; ++i) {
      const Arrival& arrival = state_.arrivals[meeting.first + i];
      if (arrival.entity == actor_ * kStreams + stream_ && arrival.flat_op == at) return true;
    }
    return false;
  }

  bool has_come(const Meeting& meeting, std::int64_t rank) const {
    const std::uint32_t of_rank = in_.classes.class_of[static_cast<std::size_t>(rank)];
    for (std::uint32_t i = 0; i < meeting.arrived; ++i)
      if (state_.arrivals[meeting.first + i].entity / kStreams == of_rank) return true;
    return false;
  }

  const EngineInput& in_;
  const State& state_;
  std::uint32_t actor_ = 0, stream_ = 0;
  const FlatProgram* flat_ = nullptr;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> deadlock_report(const EngineInput& input, const State& state) {
  return Reporter(input, state).lines();
}

}  // namespace orrery::sim::engine
