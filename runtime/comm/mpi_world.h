// Ranks as processes, through MPI (Open MPI; anything with MPI_THREAD_SERIALIZED). Collectives are not MPI's own: their
// order of summation is not fixed. They are made of nonblocking messages (mpi_side.h, mpi_peer.h), so that many can be
// under way, and give bitwise what ranks in threads give. Each communicator is an MPI communicator of its own, so that
// their messages never mix.
//
// Nothing happens in MPI but in start() and test(): a rank that computes must have a lane that tests.
//
// Failure. A rank that fails ends the job: whoever holds the World prints the one message, and calls abort(). A World that
// is destroyed after a transfer was given up, or by an exception, does it, too, since MPI_Finalize could wait for ever.
#pragma once

#include <cstdlib>
#include <memory>

#include "runtime/comm/communicator.h"

namespace orrery::runtime {

class MpiWorld : public World {
 public:
  // Ends all processes of the job at once. Any thread may call it, also while another is inside of MPI.
  [[noreturn]] void abort(int exit_code) {
    abort_others(exit_code);
    std::_Exit(exit_code);
  }

 private:
  virtual void abort_others(int exit_code) = 0;
};

// Initialises MPI; the World's end finalises it. One a process, and communicators and transfers end before it.
std::unique_ptr<MpiWorld> make_mpi_world(int& argc, char**& argv);

}  // namespace orrery::runtime
