#include "schedule/compile/point_to_point.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "schedule/compile/low_precision.h"

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

// With two stages and several chunks both neighbours are the same rank, and forward and backward messages
// take turns that differ on the two sides: they need a communicator each, or they would be mistaken for one
// another.
std::uint8_t message_group(const Stage& s, const Message& m) {
  const std::uint8_t second = find_group(s.schedule, "pipe_backward");
  return m.backward && second != kNoGroup ? second : std::uint8_t{kPipe};
}

// Both sides of a message name it alike: by the chunk behind the boundary it crosses, and its direction.
int tag(const Stage& s, const Message& m) {
  const std::int64_t here = virtual_stage(s, m.chunk);
  const bool here_is_behind =
      m.sends == m.backward;  // backward messages leave, forward messages reach, the later side
  const std::int64_t behind = here_is_behind ? here : here + 1;
  return static_cast<int>(behind / s.scenario.parallel.pp) * 2 + (m.backward ? 1 : 0);
}

// The unit at a chunk's boundary: a forward's last, whose output is sent, or the one whose backward ends the
// chunk's.
std::uint32_t boundary_unit(const Stage& s, std::uint32_t chunk, bool last) {
  const auto layers = static_cast<std::uint32_t>(s.layers_of_chunk[chunk]);
  if (!last && is_first(s, chunk)) return s.embedding_unit;
  if (layers > 0) return s.first_unit_of_chunk[chunk] + (last ? layers - 1 : 0);
  return is_last(s, chunk) ? s.head_unit : s.embedding_unit;
}

// Without overlap the stage exchanges messages at certain points only: before every action or, with several
// chunks, before every warm-up forward, every pair of forward and backward, and every cool-down backward (as
// Megatron-LM's send_forward_backward_recv_forward_backward). Exchanging inside the pairs too would deadlock:
// a stage that blocks on a send there keeps its neighbour from the receive that the neighbour's own send
// waits for.
std::vector<std::size_t> exchanges(const Stage& s, const std::vector<Action>& order) {
  std::vector<std::size_t> points;
  // Where all forwards come first there are no pairs: the first backward's gradient may depend on the last
  // forward.
  const auto first_backward =
      std::find_if(order.begin(), order.end(), [](const Action& a) { return a.backward; });
  const bool paired =
      s.chunks > 1 && 2 * (first_backward - order.begin()) < static_cast<std::ptrdiff_t>(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    points.push_back(i);
    if (paired && i + 1 < order.size() && !order[i].backward && order[i + 1].backward) ++i;
  }
  return points;
}

// At each point: the sends of all actions since the last one, then the receives for all until the next.
void exchange_between(const Stage& s, const std::vector<std::size_t>& points,
                      const std::vector<Action>& order, std::vector<StageStep>& steps) {
  for (std::size_t p = 0; p < points.size(); ++p) {
    std::vector<Message>& list = steps[points[p]].before;
    const std::size_t next = p + 1 < points.size() ? points[p + 1] : order.size();
    for (std::size_t i = p > 0 ? points[p - 1] : 0; p > 0 && i < points[p]; ++i)
      append_send(s, order[i], list);
    for (std::size_t i = points[p]; i < next; ++i) append_receive(s, order[i], list);
  }
  for (std::size_t i = points.back(); i < order.size(); ++i) append_send(s, order[i], steps.back().after);
}

}  // namespace

std::vector<StageStep> plan_messages(const Stage& s, const std::vector<Action>& order) {
  std::vector<StageStep> steps(order.size());
  const auto last = static_cast<std::uint32_t>(s.schedule.microbatches - 1);
  for (std::size_t i = 0; i < order.size(); ++i) {
    steps[i].action = order[i];
    steps[i].last_of_chunk = order[i].backward && order[i].microbatch == last;
    const bool once_a_step = keeps_low_weights(s) || (s.zero() == 3 && s.keep(UnitKind::layer) == Keep::step);
    steps[i].first_of_chunk = once_a_step && !order[i].backward && order[i].microbatch == 0;
    if (s.overlaps_pipe()) {
      if (i == 0) append_receive(s, order[i], steps[i].before);
      if (i + 1 < order.size()) append_receive(s, order[i + 1], steps[i].before);
      append_send(s, order[i], steps[i].after);
    }
  }
  if (!s.overlaps_pipe()) exchange_between(s, exchanges(s, order), order, steps);
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
  s.gradient_parity = m.chunk % 2;
  const bool outgoing = m.sends && s.chunks > 1;
  const Tensor t = m.backward ? hidden_gradient(s, b, life)
                   : outgoing ? hidden_outgoing(s, b, life)
                              : hidden_at(s, b, m.sends ? end : first, life);
  const bool to_next = m.sends != m.backward;
  b.add(m.sends ? OpKind::send : OpKind::recv, {m.sends ? in(Role::x, t) : out(Role::y, t)})
      .on(message_stream(s, m))
      .group(message_group(s, m))
      .peer(to_next ? 1 : -1)
      .site(tag(s, m));
  if (grouped) b.grouped();
  if (s.overlaps_pipe()) {
    // A send follows the compute that made its value; a receive, the compute (or send) that last used its
    // buffer.
    b.record(t.formal).wait(t.formal);
    b.wait(unit_done(s, b, boundary_unit(s, m.chunk, m.sends && !m.backward)));
  }
  const BlockId id = b.finish();
  known_.emplace(key, id);
  return id;
}

}  // namespace orrery::schedule
