// Where every allocation of a step lies in the rank's memory. Lifetimes are those of the schedule, in host issue order, as
// a caching allocator sees them; a place is given again only to an op that surely starts after the last user of what lay
// there (order.h), so streams need no other synchronisation and no timing can corrupt anything.
//
// Live bytes are counted as schedule/memory.h counts them (each allocation rounded up to 512 bytes); what the arena takes
// beyond their peak is packing loss. First fit by address, in host issue order.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/executor/order.h"
#include "runtime/executor/step_plan.h"

namespace orrery::runtime {

struct ArenaPlan {
  std::vector<std::int64_t> offset;  // of each allocation of the plan, bytes; device and host apart
  std::int64_t device_bytes = 0, host_bytes = 0;            // sizes of the two arenas
  std::int64_t peak_live_bytes = 0, peak_host_bytes = 0;
  // Orders that the arena adds between steps: an op may start only after one of the step before has ended.
  struct Wait {
    std::uint32_t op = 0, of_previous_step = 0;
  };
  std::vector<Wait> waits;
};

// `element_bytes`: bytes of an element of a type, indexed by schedule::DataType.
using ElementBytes = std::array<std::int64_t, schedule::kDataTypes>;

ArenaPlan plan_arena(const StepPlan& plan, const Order& order, const ElementBytes& element_bytes);

// The plan with the arena's waits added to those of its ops.
void add_waits(StepPlan& plan, const std::vector<ArenaPlan::Wait>& waits);

}  // namespace orrery::runtime
