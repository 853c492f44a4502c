#include "schedule/point_to_point.h"

#include <string>

#include "base/check.h"

namespace orrery::schedule {
namespace {

std::int64_t virtual_stage(const Stage& s, std::uint32_t chunk) {
  return static_cast<std::int64_t>(chunk) * s.scenario.parallel.pp + s.index;
}
bool is_first(const Stage& s, std::uint32_t chunk) { return virtual_stage(s, chunk) == 0; }
bool is_last(const Stage& s, std::uint32_t chunk) {
  return virtual_stage(s, chunk) == s.scenario.parallel.pp * s.chunks - 1;
}

// What an action needs from its neighbour, and what it has for one.
void append_receive(const Stage& s, const Action& a, std::vector<Message>& list) {
  if (a.backward ? !is_last(s, a.chunk) : !is_first(s, a.chunk))
    list.push_back({.sends = false, .backward = a.backward, .chunk = a.chunk, .microbatch = a.microbatch});
}
void append_send(const Stage& s, const Action& a, std::vector<Message>& list) {
  if (a.backward ? !is_first(s, a.chunk) : !is_last(s, a.chunk))
    list.push_back({.sends = true, .backward = a.backward, .chunk = a.chunk, .microbatch = a.microbatch});
}

Stream message_stream(const Stage& s, const Message& m) {
  if (!s.overlaps_pipe()) return Stream::compute;
  if (m.backward) return m.sends ? Stream::pipe_send_backward : Stream::pipe_recv_backward;
  return m.sends ? Stream::pipe_send_forward : Stream::pipe_recv_forward;
}

// Both sides of a message name it alike: by the chunk behind the boundary it crosses, and its direction.
int tag(const Stage& s, const Message& m) {
  const std::int64_t here = virtual_stage(s, m.chunk);
  const bool here_is_behind = m.sends == m.backward;  // backward messages leave, forward messages reach, the later side
  const std::int64_t behind = here_is_behind ? here : here + 1;
  return static_cast<int>(behind / s.scenario.parallel.pp) * 2 + (m.backward ? 1 : 0);
}

// The unit at a chunk's boundary: a forward's last, whose output is sent, or its first, whose backward ends the chunk's.
std::uint32_t boundary_unit(const Stage& s, std::uint32_t chunk, bool last) {
  const auto layers = static_cast<std::uint32_t>(s.layers_of_chunk[chunk]);
  if (layers > 0) return s.first_unit_of_chunk[chunk] + (last ? layers - 1 : 0);
  return is_last(s, chunk) ? s.head_unit : s.embedding_unit;
}

}  // namespace

std::vector<StageStep> plan_messages(const Stage& s, const std::vector<Action>& order) {
  std::vector<StageStep> steps(order.size());
  const auto last = static_cast<std::uint32_t>(s.schedule.microbatches - 1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    steps[i].action = order[i];
    steps[i].last_of_chunk = order[i].backward && order[i].microbatch == last;
    if (s.overlaps_pipe()) {
      if (i == 0) append_receive(s, order[i], steps[i].before);
      if (i + 1 < order.size()) append_receive(s, order[i + 1], steps[i].before);
      append_send(s, order[i], steps[i].after);
    } else {
      if (i > 0) append_send(s, order[i - 1], steps[i].before);
      append_receive(s, order[i], steps[i].before);
      if (i + 1 == order.size()) append_send(s, order[i], steps[i].after);
    }
  }
  return steps;
}

BlockId MessageBlocks::block(const Message& m, bool grouped) {
  Stage& s = stage_;
  const std::uint32_t key = m.chunk * 8 + (m.sends ? 4U : 0U) + (m.backward ? 2U : 0U) + (grouped ? 1U : 0U);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  CHECK(s.chunks < 128, s.chunks);
  BlockBuilder b(s.schedule, s.program,
                 std::string(m.sends ? "send_" : "recv_") + (m.backward ? "backward" : "forward"),
                 m.backward ? Phase::backward : Phase::forward);
  const Life life = m.sends ? Life::dies : Life::born;
  const std::uint32_t first = s.first_unit_of_chunk[m.chunk];
  const std::uint32_t end = first + static_cast<std::uint32_t>(s.layers_of_chunk[m.chunk]);
  const Tensor t = m.backward ? hidden_gradient(s, b, life) : hidden_at(s, b, m.sends ? end : first, life);
  const bool to_next = m.sends != m.backward;
  b.add(m.sends ? OpKind::send : OpKind::recv, {m.sends ? in(Role::x, t) : out(Role::y, t)})
      .on(message_stream(s, m))
      .group(kPipe)
      .peer(to_next ? 1 : -1)
      .site(tag(s, m));
  if (grouped) b.grouped();
  if (s.overlaps_pipe()) {
    // A send follows the compute that made its value; a receive, the compute (or send) that last used its buffer.
    b.record(t.formal).wait(t.formal);
    b.wait(unit_done(s, b, boundary_unit(s, m.chunk, m.sends && !m.backward)));
  }
  const BlockId id = b.finish();
  known_.emplace(key, id);
  return id;
}

}  // namespace orrery::schedule
