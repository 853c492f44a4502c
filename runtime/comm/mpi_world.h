// Ranks as processes, through MPI (Open MPI; anything with MPI_THREAD_SERIALIZED). Collectives are not MPI's own: their
// order of summation is not fixed. They are made of nonblocking messages (mpi_side.h, mpi_peer.h), so that many can be
// under way, and give bitwise what ranks in threads give. Each communicator is an MPI communicator of its own, so that
// their messages never mix.
//
// Nothing happens in MPI but in start() and test(): a rank that computes must have a lane that tests.
//
// Failure. A rank that fails ends the job: main() keeps the World outside its try block, prints the one message, and
// calls fail() or abort_mpi(). A World that is destroyed in another way after a transfer was given up, or by an
// exception, does it, too, since MPI_Finalize could wait for ever.
#pragma once

#include <memory>

#include "runtime/comm/communicator.h"

namespace orrery::runtime {

// Initialises MPI; the World's end finalises it. One a process, and communicators and transfers end before it.
std::unique_ptr<World> make_mpi_world(int& argc, char**& argv);

// Ends all processes of the job at once.
[[noreturn]] void abort_mpi(int exit_code);

}  // namespace orrery::runtime
