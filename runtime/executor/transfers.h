// A rank's communication entries as Transfers, prepared once: which elements of which views a call moves, with whom, and
// under which number it meets the other sides. docs/schedule.md, section 7, says what each kind does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/comm/communicator.h"
#include "runtime/executor/device.h"
#include "runtime/executor/step_plan.h"

namespace orrery::runtime {

using Communicators = std::vector<std::unique_ptr<Communicator>>;  // by group; null where the rank is in none

// All ranks of the world.
std::unique_ptr<Communicator> communicator_of_all(World& world, const std::string& name);
// Of the schedule's groups that hold the rank and others.
Communicators group_communicators(const StepPlan& plan, World& world);

// What one entry of a queue exchanges within one group.
struct EntryTransfer {
  std::unique_ptr<Transfer> transfer;
  std::vector<std::uint32_t> ops;  // its calls
  // Numbers of the calls in their meetings, for Transfer::start.
  void sequences(const StepPlan& plan, std::int64_t step, std::vector<std::uint64_t>& into) const;
};

// A plan whose views have their places in memory.
struct PlacedPlan {
  const StepPlan& plan;
  std::span<std::byte* const> view_data;  // of each view of the plan
  const Device& device;
};

// Empty for an entry of local ops.
std::vector<EntryTransfer> prepare_entry(const PlacedPlan& placed, const QueueEntry& entry, const Communicators& communicators);

}  // namespace orrery::runtime
