// Matrix products, bias gradients and norms.
#include "kernels/cpu/linear/gemm.h"
#include "kernels/cpu/norm/norm.h"
#include "runtime/cpu/perform.h"

namespace orrery::runtime {
namespace {

void gemm(const Operands& o) {
  switch (o.shape().layout) {
    case schedule::Layout::tn:
      return with_float(o.type(Role::x), [&](auto t) {
        using T = typename decltype(t)::Type;
        kernels::gemm_tn<T>(o.in<T>(Role::x), o.in<T>(Role::w), o.row<T>(Role::bias), o.out<T>(Role::y));
      });
    case schedule::Layout::nn:
      return with_float(o.type(Role::dy), [&](auto t) {
        using T = typename decltype(t)::Type;
        kernels::gemm_nn<T>(o.in<T>(Role::dy), o.in<T>(Role::w), o.out<T>(Role::dx));
      });
    case schedule::Layout::nt:
      return with_gradient(o.type(Role::dy), o.type(Role::dw), [&](auto t, auto g) {
        using T = typename decltype(t)::Type;
        using G = typename decltype(g)::Type;
        kernels::gemm_nt<T, G>(o.in<T>(Role::dy), o.in<T>(Role::x), o.out<G>(Role::dw));
      });
  }
}

kernels::Norm norm_of(const Operands& o) {
  return o.shape().norm == schedule::Norm::layer_norm ? kernels::Norm::layer_norm : kernels::Norm::rms_norm;
}

}  // namespace

bool perform_linear(const PerformContext& c) {
  const Operands& o = c.operands;
  const OpKind kind = o.call().op().op->kind;
  if (kind == OpKind::gemm) {
    gemm(o);
  } else if (kind == OpKind::bias_backward) {
    with_gradient(o.type(Role::dy), o.type(Role::dbias), [&](auto t, auto g) {
      using T = typename decltype(t)::Type;
      using G = typename decltype(g)::Type;
      kernels::bias_backward<T, G>(o.in<T>(Role::dy), o.out<G>(Role::dbias));
    });
  } else if (kind == OpKind::norm_forward || kind == OpKind::head_norm_forward) {
    with_float(o.type(Role::x), [&](auto t) {
      using T = typename decltype(t)::Type;
      const auto x = o.in<T>(Role::x), w = o.in<T>(Role::w);
      if (kind == OpKind::head_norm_forward) return kernels::head_norm_forward<T>(x, w, o.out<T>(Role::y));
      kernels::norm_forward<T>(norm_of(o), x, w, o.row<T>(Role::bias), o.out<T>(Role::y));
    });
  } else if (kind == OpKind::norm_backward || kind == OpKind::head_norm_backward) {
    with_gradient(o.type(Role::dy), o.type(Role::dw), [&](auto t, auto g) {
      using T = typename decltype(t)::Type;
      using G = typename decltype(g)::Type;
      const auto dy = o.in<T>(Role::dy), x = o.in<T>(Role::x), w = o.in<T>(Role::w);
      if (kind == OpKind::head_norm_backward)
        return kernels::head_norm_backward<T, G>(dy, x, w, o.out<T>(Role::dx), o.out<G>(Role::dw));
      kernels::norm_backward<T, G>(norm_of(o), dy, x, w,
                                   {o.out<T>(Role::dx), o.out<G>(Role::dw), o.out<G>(Role::dbias)});
    });
  } else {
    return false;
  }
  return true;
}

}  // namespace orrery::runtime
