#include "tests/interpreter/perform_experts.h"

#include "tests/interpreter/kernels_experts.h"

namespace orrery::interpreter {
namespace {

using schedule::OpKind;
using schedule::Role;

void grouped(const OpContext& c) {
  const CountTable table = c.count_table();
  const schedule::Layout layout = c.shape().layout;
  if (layout == schedule::Layout::tn)
    grouped_gemm(table, layout, c.in(Role::x), c.in(Role::w), c.out(Role::y));
  else if (layout == schedule::Layout::nn)
    grouped_gemm(table, layout, c.in(Role::dy), c.in(Role::w), c.out(Role::dx));
  else
    grouped_gemm(table, layout, c.in(Role::dy), c.in(Role::x), c.out(Role::dw));
}

}  // namespace

bool perform_experts(const OpContext& c) {
  const OpKind kind = c.op().kind;
  if (kind == OpKind::route_forward)
    route_forward(c.shape(), c.in(Role::x), c.maybe_in(Role::bias), c.out(Role::w), c.out(Role::routes),
                  c.out(Role::counts));
  else if (kind == OpKind::route_backward)
    route_backward(c.shape(), c.in(Role::dw), c.in(Role::x), c.in(Role::routes), c.out(Role::dx));
  else if (kind == OpKind::permute) permute(c.in(Role::x), c.in(Role::routes), c.out(Role::y));
  else if (kind == OpKind::combine)
    combine(c.in(Role::x), c.in(Role::routes), c.maybe_in(Role::w), c.out(Role::y));
  else if (kind == OpKind::combine_backward)
    combine_backward(c.in(Role::dy), c.in(Role::x), c.in(Role::routes), c.in(Role::w), c.out(Role::dx), c.out(Role::dw));
  else if (kind == OpKind::expert_sort || kind == OpKind::expert_unsort)
    expert_sort(c.count_table(), c.in(Role::x), c.out(Role::y), kind == OpKind::expert_unsort);
  else if (kind == OpKind::grouped_gemm) grouped(c);
  else return false;
  return true;
}

}  // namespace orrery::interpreter
