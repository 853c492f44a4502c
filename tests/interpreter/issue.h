// What the host of one rank does: it walks the program once per step and turns every op into an issued op, bound to
// allocations, in the queue of its stream. Events have CUDA's meaning: a wait refers to the last record of that
// formal's instance that was issued before it, and to nothing where there was none.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "schedule/ir.h"
#include "tests/interpreter/memory.h"

namespace orrery::interpreter {

struct BoundView {
  const schedule::View* view = nullptr;
  Allocation* allocation = nullptr;
  std::int64_t offset = 0;  // with the shard's part
  schedule::Extent extent = schedule::Extent::fixed;  // of its buffer
};

struct IssuedOp {
  const schedule::Op* op = nullptr;
  const schedule::Block* block = nullptr;
  const schedule::Unit* unit = nullptr;  // null where the program has none of that index
  std::uint32_t unit_index = 0, microbatch = 0, ordinal_in_block = 0;
  std::int64_t step = 0;
  std::vector<BoundView> views;
  std::vector<std::size_t> after;  // indices into ops: recorded events, and the last host_wait
};

// Ops that start together: one, or a grouped run.
struct QueueEntry {
  std::vector<std::size_t> ops;
};

struct RankIssue {
  std::int64_t rank = 0;
  std::vector<IssuedOp> ops;  // in host issue order
  std::array<std::vector<QueueEntry>, schedule::kStreams> streams;
};

RankIssue issue_all(const schedule::Schedule& schedule, std::int64_t rank, RankMemory& memory, std::int64_t steps);

std::string describe(const RankIssue& issue, std::size_t op);

}  // namespace orrery::interpreter
