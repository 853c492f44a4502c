// Cost: two walks over the flat programs.
#include "sim/engine/meeting_slots.h"

#include <algorithm>
#include <array>

namespace orrery::sim::engine {
namespace {

// A program's use of one side of a channel.
struct Use {
  std::uint32_t count = 0;
  std::uint32_t last_run = 0;  // 1 + where it begins
  std::uint32_t stream = 0;    // 1 + the stream
  bool several = false;        // two can be open at once
};
using Uses = std::vector<std::array<Use, 3>>;  // [channel][side]

Use& use_of(const Messages& messages, std::size_t program, const FlatOp& op, Uses& uses) {
  const Port& port = messages.ports[program][op.port];
  return uses[messages.messages[port.message].channel][static_cast<std::size_t>(port.side)];
}

void number_messages(const Messages& messages, std::size_t program, FlatProgram& flat, Uses& uses) {
  std::vector<std::uint32_t> host_order(flat.ops.size());
  for (std::uint32_t i = 0; i < flat.ops.size(); ++i) host_order[flat.origins[i].host] = i;
  for (const std::uint32_t at : host_order)
    if (flat.ops[at].port != kNoPort)
      flat.ops[at].slot = use_of(messages, program, flat.ops[at], uses).count++;
}

void look_for_several(const Messages& messages, std::size_t program, const FlatProgram& flat, Uses& uses) {
  for (std::size_t s = 0; s < schedule::kStreams; ++s) {
    const std::uint32_t end = flat.first[s] + flat.length[s];
    for (std::uint32_t head = flat.first[s]; head < end; head += flat.ops[head].run)
      for (std::uint32_t i = head; i < head + flat.ops[head].run; ++i) {
        if (flat.ops[i].port == kNoPort) continue;
        Use& use = use_of(messages, program, flat.ops[i], uses);
        const auto stream = static_cast<std::uint32_t>(s) + 1;
        use.several |= use.last_run == head + 1 || (use.stream != 0 && use.stream != stream);
        use.last_run = head + 1;
        use.stream = stream;
      }
  }
}

}  // namespace

std::vector<std::uint32_t> choose_slots(const Messages& messages, std::vector<FlatProgram>& flats) {
  const std::size_t channels = messages.channels.size();
  std::vector<std::uint32_t> most(channels, 1);
  std::vector<bool> several(channels, false);
  for (std::size_t p = 0; p < flats.size(); ++p) {
    Uses uses(channels);
    number_messages(messages, p, flats[p], uses);
    look_for_several(messages, p, flats[p], uses);
    for (std::size_t c = 0; c < channels; ++c)
      for (const Use& use : uses[c]) {
        most[c] = std::max(most[c], use.count);
        several[c] = several[c] || use.several;
      }
  }
  for (std::size_t p = 0; p < flats.size(); ++p)
    for (FlatOp& op : flats[p].ops)
      if (op.port != kNoPort && !several[messages.messages[messages.ports[p][op.port].message].channel])
        op.slot = 0;
  for (std::size_t c = 0; c < channels; ++c)
    if (!several[c]) most[c] = 1;
  return most;
}

}  // namespace orrery::sim::engine
