// Closes the set of ranks under point-to-point peers, pairs the ports, compares the sequences. Ranks of one
// program are alike, so a pair of programs (and ports) is compared once. Cost: O(ranks x ports + messages of
// distinct pairs).
#include "schedule/verify/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "schedule/kernel_work.h"
#include "schedule/text/op.h"

namespace orrery::schedule {
namespace {

ProgramPorts ports_of(const Schedule& s, const Walk& walk) {
  ProgramPorts result;
  const Program& p = *walk.program;
  for (const Op& op : p.ops)
    result.bytes.push_back(is_communication(op.kind) ? message_bytes(p, op).count() : 0);
  result.of_step.resize(walk.steps.size());
  std::map<std::tuple<PortKind, std::uint8_t, std::int64_t, std::uint8_t>, std::uint32_t> numbers;
  for (std::uint32_t step = 0; step < walk.steps.size(); ++step) {
    const Op& op = walk.op(step);
    if (!is_communication(op.kind)) continue;
    Port port;
    port.group = op.group;
    if (is_collective(op.kind)) {
      port.kind = PortKind::collective;
    } else {
      const std::int64_t size = s.groups[op.group].size;
      port.kind = op.kind == OpKind::send ? PortKind::send : PortKind::recv;
      port.peer = (op.peer % size + size) % size;
      port.direction = message_direction(op.stream);
    }
    const auto [at, is_new] = numbers.emplace(std::tuple(port.kind, port.group, port.peer, port.direction),
                                              static_cast<std::uint32_t>(result.ports.size()));
    if (is_new) result.ports.push_back(port);
    std::vector<std::uint32_t>& steps = result.ports[at->second].steps;
    result.of_step[step] = {at->second, static_cast<std::uint32_t>(steps.size())};
    steps.push_back(step);
  }
  return result;
}

class Matcher {
 public:
  Matcher(const Schedule& schedule, const std::vector<Walk>& walks, Parties& parties, Findings& findings)
      : s_(schedule), parties_(parties), findings_(findings) {
    parties_.schedule = &schedule;
    parties_.walks = &walks;
    for (const Walk& walk : walks) parties_.programs.push_back(ports_of(schedule, walk));
  }

  bool run() {
    for (std::size_t p = 0; p < s_.programs.size(); ++p)
      party_of(s_.program_group.member(0, static_cast<std::int64_t>(p)));
    for (std::uint32_t i = 0; i < parties_.ranks.size(); ++i) {
      if (parties_.ranks.size() > kMostRanks) return too_many();
      find_sides(i);
    }
    for (std::uint32_t i = 0; i < parties_.ranks.size(); ++i) find_members(i);
    for (std::uint32_t i = 0; i < parties_.ranks.size(); ++i) compare_party(i);
    return true;
  }

 private:
  static constexpr std::size_t kMostRanks = 4096;
  static constexpr std::size_t kNoProgram = ~std::size_t{0};

  bool too_many() {
    if (findings_.is_new("size", kNoProgram, 0))
      findings_.add(
          fmt::format("more than {} ranks talk to each other point to point: too many to check", kMostRanks));
    return false;
  }

  std::uint32_t party_of(std::int64_t rank) {
    const auto [at, is_new] = known_.emplace(rank, static_cast<std::uint32_t>(parties_.ranks.size()));
    if (is_new) {
      const auto program = static_cast<std::uint32_t>(s_.program_group.index(rank));
      parties_.ranks.push_back(
          {rank, program, std::vector<std::vector<Side>>(parties_.programs[program].ports.size())});
    }
    return at->second;
  }

  // A rank outside of the group, or members outside of the world.
  bool has_group(std::int64_t rank, std::uint8_t group) {
    const Group& g = s_.groups[group];
    if (g.contains(rank) && g.index(rank) < g.size && g.member(rank, g.size - 1) < s_.world) return true;
    const auto program = static_cast<std::size_t>(s_.program_group.index(rank));
    if (findings_.is_new("group", program, group))
      findings_.add(fmt::format("rank {} (program {}) communicates in group {}, which it is not a member of",
                                rank, as_name(s_.programs[program].name), as_name(g.name)));
    return false;
  }

  std::int64_t peer_of(std::int64_t rank, const Port& port) const {
    const Group& g = s_.groups[port.group];
    return g.member(rank, (g.index(rank) + port.peer) % g.size);
  }

  void find_sides(std::uint32_t i) {
    const std::int64_t rank = parties_.ranks[i].rank;
    const std::vector<Port>& ports = parties_.ports(i).ports;
    for (std::uint32_t n = 0; n < ports.size(); ++n) {
      if (!has_group(rank, ports[n].group) || ports[n].kind == PortKind::collective) continue;
      const std::int64_t peer = peer_of(rank, ports[n]);
      const std::uint32_t other = party_of(peer);
      parties_.ranks[i].sides[n].push_back({other, port_towards(peer, rank, ports[n])});
    }
  }

  std::uint32_t port_towards(std::int64_t peer, std::int64_t rank, const Port& port) const {
    const std::vector<Port>& ports =
        parties_.programs[static_cast<std::size_t>(s_.program_group.index(peer))].ports;
    const PortKind wanted = port.kind == PortKind::send ? PortKind::recv : PortKind::send;
    for (std::uint32_t n = 0; n < ports.size(); ++n)
      if (ports[n].kind == wanted && ports[n].group == port.group && ports[n].direction == port.direction &&
          peer_of(peer, ports[n]) == rank)
        return n;
    return kNoStep;
  }

  // The other programs of a collective, each by the member that is a party, else by any party of that
  // program.
  void find_members(std::uint32_t i) {
    const Party& me = parties_.ranks[i];
    const std::vector<Port>& ports = parties_.ports(i).ports;
    for (std::uint32_t n = 0; n < ports.size(); ++n) {
      const Group& g = s_.groups[ports[n].group];
      if (ports[n].kind != PortKind::collective || !g.contains(me.rank) ||
          g.member(me.rank, g.size - 1) >= s_.world)
        continue;
      std::map<std::uint32_t, std::uint32_t> others;  // program -> party
      for (std::int64_t m = 0; m < g.size && others.size() + 1 < s_.programs.size(); ++m) {
        const std::int64_t rank = g.member(me.rank, m);
        const auto program = static_cast<std::uint32_t>(s_.program_group.index(rank));
        if (program == me.program) continue;
        const auto known = known_.find(rank);
        others.emplace(program, known != known_.end() ? known->second : program);  // party p is of program p
      }
      for (const auto& [program, party] : others)
        parties_.ranks[i].sides[n].push_back({party, collective_port(party, ports[n].group)});
    }
  }

  std::uint32_t collective_port(std::uint32_t party, std::uint8_t group) const {
    const std::vector<Port>& ports = parties_.ports(party).ports;
    for (std::uint32_t n = 0; n < ports.size(); ++n)
      if (ports[n].kind == PortKind::collective && ports[n].group == group) return n;
    return kNoStep;
  }

  void compare_party(std::uint32_t i) {
    const Party& me = parties_.ranks[i];
    for (std::uint32_t n = 0; n < me.sides.size(); ++n)
      for (const Side& side : me.sides[n]) {
        const Party& other = parties_.ranks[side.party];
        if (!compared_.emplace(me.program, n, other.program, side.port).second) continue;
        if (side.port == kNoStep)
          missing(i, n, side);
        else if (parties_.ports(i).ports[n].kind != PortKind::recv)
          compare(i, n, side);  // from the sender's side
      }
  }

  const Port& port(std::uint32_t party, std::uint32_t n) const { return parties_.ports(party).ports[n]; }

  std::string title(std::uint32_t a, std::uint32_t n, std::uint32_t b) const {
    const Port& p = port(a, n);
    if (p.kind == PortKind::collective)
      return fmt::format("collectives of ranks {} and {} in group {}", parties_.ranks[a].rank,
                         parties_.ranks[b].rank, as_name(s_.groups[p.group].name));
    const bool sends = p.kind == PortKind::send;
    return fmt::format("messages from rank {} to rank {}", parties_.ranks[sends ? a : b].rank,
                       parties_.ranks[sends ? b : a].rank);
  }

  std::string line(std::uint32_t party, std::uint32_t step) const {
    const Walk& walk = parties_.walk(party);
    const Op& op = walk.op(step);
    const std::string tag = is_point_to_point(op.kind) ? fmt::format(", site {}", op.site) : "";
    return fmt::format("rank {}: {}{}, {} bytes", parties_.ranks[party].rank, walk.describe(step), tag,
                       parties_.ports(party).bytes[walk.steps[step].op]);
  }

  void missing(std::uint32_t a, std::uint32_t n, const Side& side) {
    if (!findings_.is_new("unmatched communication", parties_.ranks[a].program, n)) return;
    const Port& p = port(a, n);
    const std::string_view never = p.kind == PortKind::send   ? "never receives from it"
                                   : p.kind == PortKind::recv ? "never sends to it"
                                                              : "has no collective there";
    findings_.add(fmt::format("{}: rank {} {}", title(a, n, side.party), parties_.ranks[side.party].rank,
                              p.direction == 0 ? std::string(never)
                                               : fmt::format("{} on the stream of that direction", never)),
                  {line(a, p.steps.front())});
  }

  bool agree(std::uint32_t a, std::uint32_t step_a, std::uint32_t b, std::uint32_t step_b) const {
    const Walk &wa = parties_.walk(a), &wb = parties_.walk(b);
    const Op &x = wa.op(step_a), &y = wb.op(step_b);
    if (parties_.ports(a).bytes[wa.steps[step_a].op] != parties_.ports(b).bytes[wb.steps[step_b].op])
      return false;
    if (is_point_to_point(x.kind))
      return x.site == y.site && wa.call(step_a).microbatch == wb.call(step_b).microbatch;
    return x.kind == y.kind && s_.shapes[x.shape].reduce == s_.shapes[y.shape].reduce;
  }

  void compare(std::uint32_t a, std::uint32_t n, const Side& side) {
    const std::uint32_t b = side.party;
    const std::vector<std::uint32_t>&mine = port(a, n).steps, &theirs = port(b, side.port).steps;
    const std::size_t common = std::min(mine.size(), theirs.size());
    std::size_t i = 0;
    while (i < common && agree(a, mine[i], b, theirs[i])) ++i;
    if (i == mine.size() && i == theirs.size()) return;
    if (!findings_.is_new("mismatched communication", parties_.ranks[a].program, n)) return;
    std::vector<std::string> lines;
    if (i < mine.size()) lines.push_back(line(a, mine[i]));
    if (i < theirs.size()) lines.push_back(line(b, theirs[i]));
    if (i < common)
      findings_.add(fmt::format("{}: number {} does not match (size, tag, microbatch or kind differ)",
                                title(a, n, b), i),
                    std::move(lines));
    else
      findings_.add(
          fmt::format("{}: {} on rank {}, but {} on rank {}; the first without partner:", title(a, n, b),
                      mine.size(), parties_.ranks[a].rank, theirs.size(), parties_.ranks[b].rank),
          std::move(lines));
  }

  const Schedule& s_;
  Parties& parties_;
  Findings& findings_;
  std::map<std::int64_t, std::uint32_t> known_;
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>> compared_;
};

}  // namespace

bool match_messages(const Schedule& schedule, const std::vector<Walk>& walks, Parties& parties,
                    Findings& findings) {
  return Matcher(schedule, walks, parties, findings).run();
}

}  // namespace orrery::schedule
