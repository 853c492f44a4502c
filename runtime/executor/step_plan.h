// One rank's step, unrolled once: every op in host issue order with its operands bound to allocations, its waits resolved
// to ops, and the in-order queue of each stream. Everything that the lanes do afterwards is a walk over this; nothing is
// decided while it runs. docs/schedule.md, sections 3, 4 and 8, states the rules that are resolved here.
//
// Cost: about 200 bytes an op and 40 an operand; a step of a million ops takes under a second to plan.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schedule/ir.h"

namespace orrery::runtime {

// What an op waits for: another op of this step, or of the step before (in the first step: nothing).
struct PlannedWait {
  std::uint32_t op = 0;
  bool previous_step = false;
};

// The life of a buffer instance within the step, or (persistent) of all steps.
struct Allocation {
  BufferId buffer;
  std::uint32_t instance = 0;
  bool persistent = false;
  std::uint32_t allocated_by = 0, freed_by = 0;  // ops; persistent: none
};

struct PlannedView {
  const schedule::View* view = nullptr;
  std::uint32_t allocation = 0;
  std::int64_t offset = 0;  // elements, the rank's shard included
};

struct PlannedOp {
  const schedule::Op* op = nullptr;
  const schedule::Block* block = nullptr;
  const schedule::Unit* unit = nullptr;  // null where the program has none of that index
  std::uint32_t unit_index = 0, microbatch = 0;
  std::uint32_t first_view = 0, view_count = 0;
  std::uint32_t first_wait = 0, wait_count = 0;
  std::uint32_t entry = 0;       // of its stream's queue
  // Communication: its number among the rank's meetings of that group and kind in a step (sequence), and how many there
  // are in a step, so that step s's is s * per_step + sequence.
  std::uint32_t sequence = 0, per_step = 0;
};

// Ops of one stream that start together: one, or a grouped run.
struct QueueEntry {
  std::uint32_t first = 0, count = 0;  // in StepPlan::queued
};

struct StepPlan {
  const schedule::Schedule* schedule = nullptr;
  const schedule::Program* program = nullptr;
  std::int64_t rank = 0;
  std::vector<PlannedOp> ops;            // by op id
  std::vector<PlannedView> views;
  std::vector<PlannedWait> waits;
  std::vector<Allocation> allocations;   // persistent ones first
  std::vector<std::uint32_t> queued;     // op ids, stream by stream
  std::array<std::vector<QueueEntry>, schedule::kStreams> streams;

  std::span<const PlannedView> views_of(const PlannedOp& op) const { return {views.data() + op.first_view, op.view_count}; }
  std::span<const PlannedWait> waits_of(const PlannedOp& op) const { return {waits.data() + op.first_wait, op.wait_count}; }
  std::span<const std::uint32_t> ops_of(const QueueEntry& e) const { return {queued.data() + e.first, e.count}; }
  const schedule::KernelShape& shape(const PlannedOp& op) const { return schedule->shapes[op.op->shape]; }
  const schedule::Buffer& buffer(const Allocation& a) const { return program->buffers[a.buffer.index()]; }
};

// The schedule must be sound (schedule/verify.h) and outlive the plan.
StepPlan plan_step(const schedule::Schedule& schedule, std::int64_t rank);

// "all_reduce (layer_backward.7, unit 3, microbatch 0)", as verify and the simulator call it.
std::string describe(const StepPlan& plan, std::uint32_t op);

// The sides of a communication op: ranks of its group, or sender and receiver.
std::vector<std::int64_t> sides_of(const StepPlan& plan, const PlannedOp& op);

}  // namespace orrery::runtime
