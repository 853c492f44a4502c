#include "schedule/compile/drop_idle_waits.h"

#include <utility>
#include <vector>

namespace orrery::schedule {

void drop_idle_waits(Program& p) {
  std::vector<bool> recorded(p.buffers.size(), false);
  for (const Block& block : p.blocks)
    for (const Op& op : p.ops_of(block))
      if (op.record != kNoFormal) recorded[p.formals_of(block)[op.record].buffer.index()] = true;
  std::vector<std::uint16_t> kept;
  for (const Block& block : p.blocks)
    for (std::uint32_t i = block.first_op; i < block.first_op + block.op_count; ++i) {
      Op& op = p.ops[i];
      const auto first = static_cast<std::uint32_t>(kept.size());
      for (const std::uint16_t formal : p.waits_of(op))
        if (recorded[p.formals_of(block)[formal].buffer.index()]) kept.push_back(formal);
      op.first_wait = first;
      op.wait_count = static_cast<std::uint16_t>(kept.size() - first);
    }
  p.waits = std::move(kept);
}

}  // namespace orrery::schedule
