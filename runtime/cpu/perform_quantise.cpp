// Block quantisation of what ZeRO++ sends. A quantise op may have several pairs of views: rows that go to different members.
#include "kernels/cpu/quantise/block_quantise.h"
#include "runtime/cpu/perform.h"

namespace orrery::runtime {
namespace {

kernels::BlockFormat format_of(const Operands& o) {
  return {.block = o.shape().k, .bits = static_cast<int>(o.shape().n)};
}

void quantise(const Operands& o) {
  for (int x = o.find(Role::x), y = o.find(Role::y); x >= 0; x = o.find(Role::x, x + 1), y = o.find(Role::y, y + 1)) {
    CHECK(y >= 0, "x and y do not come in pairs");
    with_float(o.type_at(x), [&](auto t) {
      using T = typename decltype(t)::Type;
      kernels::quantise<T>(o.place<const T>(x), format_of(o), o.place<std::uint8_t>(y));
    });
  }
}

void dequantise(const Operands& o) {
  with_float(o.type(Role::y), [&](auto t) {
    using T = typename decltype(t)::Type;
    kernels::dequantise<T>(o.in<std::uint8_t>(Role::x), format_of(o), o.out<T>(Role::y));
  });
}

}  // namespace

bool perform_quantise(const PerformContext& c) {
  const OpKind kind = c.operands.call().op().op->kind;
  if (kind == OpKind::quantise) quantise(c.operands);
  else if (kind == OpKind::dequantise) dequantise(c.operands);
  else return false;
  return true;
}

}  // namespace orrery::runtime
