// Token and position tables, and their gradients.
#include "kernels/cpu/embedding/embedding.h"

#include "runtime/cpu/perform.h"

namespace orrery::runtime {
namespace {

// A vocabulary shard's first row; the whole table where the op has no group.
std::int64_t first_vocabulary_row(const PerformContext& c, std::int64_t rows) {
  return c.operands.call().op().op->group == schedule::kNoGroup ? 0 : c.placement.shard_index() * rows;
}

void embed(const PerformContext& c, bool forward) {
  const Operands& o = c.operands;
  const kernels::Tokens tokens = o.in<std::int32_t>(Role::tokens);
  if (forward)
    return with_float(o.type(Role::w), [&](auto t) {
      using T = typename decltype(t)::Type;
      const auto w = o.in<T>(Role::w);
      kernels::embedding_forward<T>(tokens, w, first_vocabulary_row(c, w.rows), o.out<T>(Role::y));
    });
  with_gradient(o.type(Role::dy), o.type(Role::dw), [&](auto t, auto g) {
    using T = typename decltype(t)::Type;
    using G = typename decltype(g)::Type;
    const auto dw = o.out<G>(Role::dw);
    kernels::embedding_backward<T, G>(tokens, o.in<T>(Role::dy), first_vocabulary_row(c, dw.view.rows), dw);
  });
}

void position(const PerformContext& c, bool forward) {
  const Operands& o = c.operands;
  const std::int64_t rows = o.view(o.need(forward ? Role::y : Role::dy)).rows;
  const auto runs = c.placement.row_runs(rows);
  if (forward)
    return with_float(o.type(Role::w), [&](auto t) {
      using T = typename decltype(t)::Type;
      for (const Placement::RowRun& run : runs)
        kernels::position_forward<T>(o.in<T>(Role::w), {c.job.batch, run.of_microbatch},
                                     rows_of(o.place<T>(Role::y), run.row, run.count));
    });
  with_gradient(o.type(Role::dy), o.type(Role::dw), [&](auto t, auto g) {
    using T = typename decltype(t)::Type;
    using G = typename decltype(g)::Type;
    auto dw = o.out<G>(Role::dw);
    for (const Placement::RowRun& run : runs) {
      kernels::position_backward<T, G>(rows_of(o.in<T>(Role::dy), run.row, run.count), {c.job.batch, run.of_microbatch}, dw);
      dw.adds = true;
    }
  });
}

}  // namespace

bool perform_embedding(const PerformContext& c) {
  const OpKind kind = c.operands.call().op().op->kind;
  if (kind == OpKind::embedding_forward || kind == OpKind::embedding_backward) embed(c, kind == OpKind::embedding_forward);
  else if (kind == OpKind::position_forward || kind == OpKind::position_backward)
    position(c, kind == OpKind::position_forward);
  else return false;
  return true;
}

}  // namespace orrery::runtime
