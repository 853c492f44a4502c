#include "runtime/calibrate/kernel_catalog.h"

namespace orrery::runtime {

std::vector<std::uint32_t> KernelCatalog::add(const schedule::Schedule& schedule,
                                              const schedule::Program& program) {
  std::vector<std::uint32_t> of_op;
  of_op.reserve(program.ops.size());
  for (const schedule::Op& op : program.ops)
    of_op.push_back(schedule::has_kernel_key(op.kind)
                        ? add(schedule::kernel_key(program, op, schedule.shapes[op.shape]))
                        : kNoKernel);
  return of_op;
}

std::uint32_t KernelCatalog::add(schedule::KernelKey key) {
  const auto next = static_cast<std::uint32_t>(kernels_.size());
  const auto [at, is_new] = known_.try_emplace(Size{key.name, key.dims}, next);
  if (is_new) kernels_.push_back({std::move(key), {}, {}});
  return at->second;
}

}  // namespace orrery::runtime
