#include "sim/metrics/op_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantities.h"
#include "schedule/kernel_work.h"

namespace orrery::sim {

std::string op_shape_text(const schedule::Schedule& schedule, const schedule::Program& program,
                          const schedule::Op& op) {
  if (schedule::is_communication(op.kind) || schedule::is_copy(op.kind))
    return human_bytes(schedule::message_bytes(program, op));
  const schedule::KernelShape& s = schedule.shapes[op.shape];
  if (op.kind == schedule::OpKind::gemm || op.kind == schedule::OpKind::grouped_gemm)
    return fmt::format("{} {}x{}x{}", schedule::name(s.layout), s.m, s.n, s.k);
  if (s.head_dim > 0)
    return s.kv_heads > 0 && s.kv_heads != s.heads
               ? fmt::format("b{} s{} h{}/{} d{}", s.batch, s.sequence, s.heads, s.kv_heads, s.head_dim)
               : fmt::format("b{} s{} h{} d{}", s.batch, s.sequence, s.heads, s.head_dim);
  const auto views = program.views_of(op);
  const auto written = std::find_if(views.begin(), views.end(), [](const schedule::View& view) {
    return view.access != schedule::Access::read && view.count() > 0;
  });
  if (written == views.end()) return {};
  return written->rows == 1 ? fmt::format("{}", written->columns)
                            : fmt::format("{}x{}", written->rows, written->columns);
}

}  // namespace orrery::sim
