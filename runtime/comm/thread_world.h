// Ranks as threads of one process: no copies but the necessary ones, since each rank reads the others' memory
// (thread_side.h), and no polling, since a rank that can go on is rung (thread_bell.h). What each kind moves, and in
// how many steps: rounds.h. How sides find each other: thread_meeting.h.
//
// Costs, per rank, of n: all_reduce 2 waits for the slowest and 2 (n-1)/n of the bytes read from others, reduce_scatter
// and all_gather 1 and (n-1)/n; and one more wait until the others have read this rank's memory. A collective of up to
// 4 KiB a rank: 1 wait in all, and n times the bytes.
//
// The ends may outlive each other. A thread that fails destroys its transfers, and all who wait for it get a CommError.
#pragma once

#include <memory>
#include <vector>

#include "runtime/comm/communicator.h"

namespace orrery::runtime {

// The ends of ranks 0 .. size - 1, each to be used by its own thread or threads.
std::vector<std::unique_ptr<World>> make_thread_worlds(int size);

}  // namespace orrery::runtime
