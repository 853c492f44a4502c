// Routing, rows by expert, and the products of experts: one gemm for each expert that has rows.
#include "kernels/cpu/experts/expert_rows.h"
#include "kernels/cpu/experts/route.h"
#include "kernels/cpu/linear/gemm.h"
#include "kernels/cpu/pointwise/copy.h"
#include "runtime/cpu/perform.h"

namespace orrery::runtime {
namespace {

kernels::Routing routing_of(const Operands& o) {
  const schedule::KernelShape& s = o.shape();
  return {.top_k = s.k,
          .groups = s.groups,
          .top_groups = s.top_groups,
          .capacity = s.m,
          .sigmoid = s.sigmoid,
          .normalized = s.normalized,
          .scale = s.scale};
}

void route(const Operands& o, bool forward) {
  with_float(o.type(Role::x), [&](auto t) {
    using T = typename decltype(t)::Type;
    using W = kernels::Wide<T>;
    if (forward)
      kernels::route_forward<T>(routing_of(o), o.in<T>(Role::x), o.in<T>(Role::bias), o.place<W>(Role::w),
                                o.place<std::int32_t>(Role::routes), o.place<std::int32_t>(Role::counts));
    else
      kernels::route_backward<T>(routing_of(o), o.in<W>(Role::dw), o.in<T>(Role::x), o.in<std::int32_t>(Role::routes),
                                 o.out<T>(Role::dx));
  });
}

void move_rows(const Operands& o, OpKind kind) {
  const std::int64_t experts = o.counts().experts;
  const auto routes = o.in<std::int32_t>(Role::routes);
  with_float(o.type(Role::x), [&](auto t) {
    using T = typename decltype(t)::Type;
    using W = kernels::Wide<T>;
    const auto x = o.in<T>(Role::x);
    if (kind == OpKind::permute) return kernels::permute_rows<T>(x, routes, experts, o.out<T>(Role::y));
    if (kind == OpKind::combine)
      return kernels::combine_rows<T>(x, routes, experts, o.in<W>(Role::w), o.out<T>(Role::y));
    kernels::combine_rows_backward<T>(o.in<T>(Role::dy), x, routes, experts, o.in<W>(Role::w), o.out<T>(Role::dx),
                                      o.place<W>(Role::dw));
  });
}

void sort(const Operands& o, bool back) {
  const ExpertCounts& counts = o.counts();
  thread_local std::vector<std::int64_t> lengths;
  lengths.clear();
  for (std::int64_t s = 0; s < counts.senders(); ++s)
    for (std::int64_t e = 0; e < counts.local(); ++e) lengths.push_back(counts.rows(s, e));
  with_float(o.type(Role::x), [&](auto t) {
    using T = typename decltype(t)::Type;
    kernels::sort_rows<T>(lengths, counts.local(), back, o.in<T>(Role::x), o.out<T>(Role::y));
  });
}

template <typename T>
Matrix<T> rows_of(Matrix<T> matrix, std::int64_t first, std::int64_t rows) {
  matrix.data += first * matrix.stride;
  matrix.rows = rows;
  return matrix;
}
template <typename T>
Out<T> rows_of(Out<T> out, std::int64_t first, std::int64_t rows) {
  return {rows_of(out.view, first, rows), out.adds};
}

// An expert without rows adds nothing to its weights' gradient; where that is overwritten, it is 0.
template <typename T, typename G>
void weight_gradient(In<T> dy, In<T> x, Out<G> dw) {
  if (x.rows > 0) return kernels::gemm_nt<T, G>(dy, x, dw);
  if (!dw.adds) kernels::fill<G>(dw.view);
}

void grouped_gemm(const Operands& o) {
  const ExpertCounts& counts = o.counts();
  const schedule::Layout layout = o.shape().layout;
  std::int64_t first = 0;
  for (std::int64_t e = 0; e < counts.local(); ++e) {
    const std::int64_t rows = counts.of_expert(e);
    if (layout == schedule::Layout::nt) {
      with_gradient(o.type(Role::dy), o.type(Role::dw), [&](auto t, auto g) {
        using T = typename decltype(t)::Type;
        using G = typename decltype(g)::Type;
        const Out<G> dw = o.out<G>(Role::dw);
        const std::int64_t height = dw.view.rows / counts.local();
        weight_gradient<T, G>(rows_of(o.in<T>(Role::dy), first, rows), rows_of(o.in<T>(Role::x), first, rows),
                              rows_of(dw, e * height, height));
      });
    } else if (rows > 0) {
      with_float(o.type(Role::w), [&](auto t) {
        using T = typename decltype(t)::Type;
        const In<T> all = o.in<T>(Role::w);
        const std::int64_t height = all.rows / counts.local();
        const In<T> w = rows_of(all, e * height, height);
        if (layout == schedule::Layout::tn)
          kernels::gemm_tn<T>(rows_of(o.in<T>(Role::x), first, rows), w, {}, rows_of(o.out<T>(Role::y), first, rows));
        else
          kernels::gemm_nn<T>(rows_of(o.in<T>(Role::dy), first, rows), w, rows_of(o.out<T>(Role::dx), first, rows));
      });
    }
    first += rows;
  }
}

}  // namespace

bool perform_experts(const PerformContext& c) {
  const Operands& o = c.operands;
  const OpKind kind = o.call().op().op->kind;
  if (kind == OpKind::route_forward || kind == OpKind::route_backward) route(o, kind == OpKind::route_forward);
  else if (kind == OpKind::permute || kind == OpKind::combine || kind == OpKind::combine_backward) move_rows(o, kind);
  else if (kind == OpKind::expert_sort || kind == OpKind::expert_unsort) sort(o, kind == OpKind::expert_unsort);
  else if (kind == OpKind::grouped_gemm) grouped_gemm(o);
  else return false;
  return true;
}

}  // namespace orrery::runtime
