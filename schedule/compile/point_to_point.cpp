#include "schedule/compile/point_to_point.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "schedule/compile/deferred_head.h"
#include "schedule/compile/low_precision.h"

namespace orrery::schedule {
namespace {

// Where the value of a message comes from, seen from the rank that receives it, or goes to, from the one that sends it.
Hop hop_of(const Stage& s, bool sends, bool backward, std::uint32_t chunk) {
  return sends != backward ? s.placement.next(s.index, chunk) : s.placement.previous(s.index, chunk);
}

void append(const Stage& s, const Action& a, bool sends, std::vector<Message>& list) {
  const bool backward = gives_gradient(a);
  if (a.kind == ActionKind::backward_weight) return;
  if (hop_of(s, sends, backward, a.chunk).kind != Hop::Kind::message) return;
  list.push_back({.sends = sends, .backward = backward, .chunk = a.chunk, .microbatch = a.microbatch});
}
// What an action needs from its neighbour, and what it has for one.
void append_receive(const Stage& s, const Action& a, std::vector<Message>& list) { append(s, a, false, list); }
void append_send(const Stage& s, const Action& a, std::vector<Message>& list) { append(s, a, true, list); }

Stream message_stream(const Stage& s, const Message& m) {
  if (!s.overlaps_pipe()) return Stream::compute;
  if (s.placement.goes_up(m.chunk)) {
    if (m.backward) return m.sends ? Stream::pipe_send_backward : Stream::pipe_recv_backward;
    return m.sends ? Stream::pipe_send_forward : Stream::pipe_recv_forward;
  }
  if (m.backward) return m.sends ? Stream::pipe_send_backward_2 : Stream::pipe_recv_backward_2;
  return m.sends ? Stream::pipe_send_forward_2 : Stream::pipe_recv_forward_2;
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
  const bool here_is_behind =
      m.sends == m.backward;  // backward messages leave, forward messages reach, the later side
  const std::uint32_t behind = here_is_behind ? m.chunk : s.placement.next(s.index, m.chunk).chunk;
  return static_cast<int>(behind) * 2 + (m.backward ? 1 : 0);
}

// The unit at a chunk's boundary: a forward's last, whose output is sent, or the one whose backward ends the
// chunk's.
std::uint32_t boundary_unit(const Stage& s, std::uint32_t chunk, bool last) {
  const auto layers = static_cast<std::uint32_t>(s.layers_of_chunk[chunk]);
  if (!last && s.is_first(chunk)) return s.embedding_unit;
  if (layers > 0) return s.first_unit_of_chunk[chunk] + (last ? layers - 1 : 0);
  return s.is_last(chunk) ? s.head_unit : s.embedding_unit;
}

// The unit whose computation ends a chunk's backward or forward.
std::uint32_t last_of_action(const Stage& s, std::uint32_t chunk, bool backward) {
  if (!backward) return s.is_last(chunk) ? s.head_unit : boundary_unit(s, chunk, true);
  return s.is_first(chunk) ? s.embedding_unit : boundary_unit(s, chunk, false);
}

// Without overlap the stage exchanges messages at certain points only: before every action or, with several
// chunks, before every warm-up forward, every pair of forward and backward, and every cool-down backward (as
// Megatron-LM's send_forward_backward_recv_forward_backward). Exchanging inside the pairs too would deadlock:
// a stage that blocks on a send there keeps its neighbour from the receive that the neighbour's own send
// waits for.
std::vector<std::size_t> exchanges(const Stage& s, const Order& order) {
  std::vector<std::size_t> points;
  // Where all forwards come first there are no pairs: the first backward's gradient may depend on the last
  // forward.
  const auto first_backward =
      std::find_if(order.begin(), order.end(), [](const Action& a) { return !is_forward(a); });
  const bool paired =
      s.chunks > 1 && 2 * (first_backward - order.begin()) < static_cast<std::ptrdiff_t>(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    points.push_back(i);
    if (paired && i + 1 < order.size() && is_forward(order[i]) && !is_forward(order[i + 1])) ++i;
  }
  return points;
}

// At each point: the sends of all actions since the last one, then the receives for all until the next.
void exchange_between(const Stage& s, const std::vector<std::size_t>& points,
                      const Order& order, std::vector<StageStep>& steps) {
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

std::vector<StageStep> plan_messages(const Stage& s, const Order& order) {
  std::vector<StageStep> steps(order.size());
  std::vector<std::size_t> last(static_cast<std::size_t>(s.chunks), order.size());
  const bool once_a_step = keeps_low_weights(s) || (s.zero() == 3 && s.keep(UnitKind::layer) == Keep::step);
  std::vector<bool> begun(static_cast<std::size_t>(s.chunks), false);
  for (std::size_t i = 0; i < order.size(); ++i) {
    steps[i].action = order[i];
    steps[i].defers = defers(s, order[i]);
    if (completes(order[i])) last[order[i].chunk] = i;
    if (once_a_step && order[i].kind == ActionKind::forward && !begun[order[i].chunk])
      steps[i].first_of_chunk = begun[order[i].chunk] = true;
    if (s.overlaps_pipe()) {
      if (i == 0) append_receive(s, order[i], steps[i].before);
      if (i + 1 < order.size()) append_receive(s, order[i + 1], steps[i].before);
      std::vector<Message>& after = steps[order[i].joined == Joined::begins ? i + 1 : i].after;
      const std::size_t others = after.size();
      append_send(s, order[i], after);
      if (order[i].joined != Joined::no && after.size() > others) after.back().joined = true;
    }
  }
  for (const std::size_t i : last)
    if (i < steps.size()) steps[i].last_of_chunk = true;
  if (!s.overlaps_pipe()) exchange_between(s, exchanges(s, order), order, steps);
  return steps;
}

BlockId MessageBlocks::block(const Message& m, bool grouped) {
  Stage& s = stage_;
  const std::uint32_t key = m.chunk * 16 + (m.joined ? 8U : 0U) + (m.sends ? 4U : 0U) + (m.backward ? 2U : 0U) +
                            (grouped ? 1U : 0U);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  CHECK(s.chunks < 128, s.chunks);
  BlockBuilder b(s.schedule, s.program,
                 std::string(m.sends ? "send_" : "recv_") + (m.backward ? "backward" : "forward"),
                 m.backward ? Phase::backward : Phase::forward);
  const Life life = m.sends ? Life::dies : Life::born;
  const std::uint32_t first = s.first_unit_of_chunk[m.chunk];
  const std::uint32_t end = first + static_cast<std::uint32_t>(s.layers_of_chunk[m.chunk]);
  s.gradient_parity = s.parity_of_chunk[m.chunk];
  const bool outgoing = m.sends && s.chunks > 1;
  const Tensor t = m.backward ? hidden_gradient(s, b, life)
                   : outgoing ? hidden_outgoing(s, b, life)
                              : hidden_at(s, b, m.sends ? end : first, life);
  b.add(m.sends ? OpKind::send : OpKind::recv, {m.sends ? in(Role::x, t) : out(Role::y, t)})
      .on(message_stream(s, m))
      .group(message_group(s, m))
      .peer(hop_of(s, m.sends, m.backward, m.chunk).peer)
      .site(tag(s, m));
  if (grouped) b.grouped();
  if (s.overlaps_pipe()) {
    // A send follows the compute that made its value; a receive, the compute (or send) that last used its
    // buffer.
    b.record(t.formal).wait(t.formal);
    b.wait(unit_done(s, b, boundary_unit(s, m.chunk, m.sends && !m.backward)));
    if (m.joined) {
      b.wait(unit_done(s, b, last_of_action(s, 1 - m.chunk, !m.backward)));
    }
  }
  const BlockId id = b.finish();
  known_.emplace(key, id);
  return id;
}

}  // namespace orrery::schedule
