#include "schedule/trace_ops.h"

#include <fmt/format.h>

namespace orrery::schedule {

std::vector<TracedOp> traced_ops(const Program& program) {
  std::vector<TracedOp> ops;
  for_each_call(program, ~std::uint32_t{0}, [&](const Call& call, std::uint32_t microbatch, std::uint32_t) {
    const Block& block = program.block(call);
    const auto index = static_cast<std::uint32_t>(&call - program.calls.data());
    for (std::uint32_t i = 0; i < block.op_count; ++i) ops.push_back({block.first_op + i, index, microbatch});
  });
  return ops;
}

std::string op_name(const Program& program, std::uint32_t op) {
  const Block& block = program.block_of(program.ops[op]);
  return fmt::format("{}.{}", block.name, op - block.first_op);
}

}  // namespace orrery::schedule
