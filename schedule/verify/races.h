// Buffers of one rank: every read after the write it needs, every write after earlier reads and writes,
// memory allocated before use, freed once, when nobody can still be using it, and nothing left at the end of
// the step. "After" is what the schedule itself guarantees: stream order, events, and the host that waited
// for one.
#pragma once

#include "schedule/verify/findings.h"
#include "schedule/verify/walk.h"

namespace orrery::schedule {

// `rank`: one rank of that program; shards are those that it sees. A program of more than `most_atoms` parts
// of instances is not checked, and the finding says so.
void check_races(const Schedule& schedule, std::size_t program, std::int64_t rank, const Walk& walk,
                 std::uint64_t most_atoms, Findings& findings);

}  // namespace orrery::schedule
