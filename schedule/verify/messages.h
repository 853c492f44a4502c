// Who talks to whom: the ranks that are checked (one of each program, and whoever they send to or receive
// from), and for each of them the communication ops in the order in which they are matched.
//
// A port is one direction of talk of a program: sends, or receives, with one peer offset in one group in one
// direction of the pipeline; or the collectives of one group. The i-th op of a port, in host issue order,
// meets the i-th op of the port on the other side. Streams tell the direction: pipe_*_forward,
// pipe_*_backward, all others together; so where one pair of ranks exchanges both on one stream, they must be
// issued in the same order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/verify/findings.h"
#include "schedule/verify/walk.h"

namespace orrery::schedule {

enum class PortKind : std::uint8_t { send, recv, collective };

struct Port {
  PortKind kind = PortKind::send;
  std::uint8_t group = 0;
  std::int64_t peer = 0;  // index offset, 0 .. size - 1
  std::uint8_t direction = 0;
  std::vector<std::uint32_t> steps;  // in matching order
};

// Where a walked op stands in its port.
struct PortPlace {
  std::uint32_t port = kNoStep;
  std::uint32_t ordinal = 0;
};

struct ProgramPorts {
  std::vector<Port> ports;
  std::vector<PortPlace> of_step;
  std::vector<std::int64_t> bytes;  // of each op of the program
};

// A rank that is checked. For each port: the ranks (as indices into Parties::ranks) and ports on the other
// side; of a collective, those of other programs, as ranks of one program come to it alike. A side that is
// missing has no port.
struct Side {
  std::uint32_t party = 0;
  std::uint32_t port = kNoStep;
};
struct Party {
  std::int64_t rank = 0;
  std::uint32_t program = 0;
  std::vector<std::vector<Side>> sides;  // by port
};

struct Parties {
  const Schedule* schedule = nullptr;
  const std::vector<Walk>* walks = nullptr;  // by program
  std::vector<ProgramPorts> programs;
  std::vector<Party> ranks;
  const Walk& walk(std::uint32_t party) const { return (*walks)[ranks[party].program]; }
  const ProgramPorts& ports(std::uint32_t party) const { return programs[ranks[party].program]; }
};

// Finds the parties and their sides, and checks that both sides of every message and all members of every
// collective agree: number, kind, bytes, and of messages the tag (site) and microbatch. False: too many ranks
// to check.
bool match_messages(const Schedule& schedule, const std::vector<Walk>& walks, Parties& parties,
                    Findings& findings);

}  // namespace orrery::schedule
