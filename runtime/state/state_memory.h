// A rank's memory, as far as its training state goes: what initialising, saving and loading need of an executor, and
// all that they know of one.
#pragma once

#include <cstddef>

#include "runtime/comm/communicator.h"
#include "schedule/ir.h"

namespace orrery::runtime {

class StateMemory {
 public:
  virtual ~StateMemory() = default;
  // The first element of a persistent buffer's instance; stays where it is.
  virtual std::byte* address(schedule::BufferRef ref) = 0;
  // How its elements are stored: the schedule's type, or fp64 where the run computes in double.
  virtual Element element(BufferId buffer) const = 0;
  // Called now and then while the state is initialised or loaded, for whoever watches that something goes on.
  virtual void moved() {}
};

}  // namespace orrery::runtime
