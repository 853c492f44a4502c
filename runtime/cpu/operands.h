// The operands of an op as what kernels take, found by role. Element types become C++ types here: every kernel is called with
// the types that its buffers have. In double precision everything floating is a double.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "kernels/float_types.h"
#include "kernels/matrix.h"
#include "runtime/executor/device.h"
#include "runtime/executor/element.h"
#include "runtime/executor/expert_counts.h"

namespace orrery::runtime {

using kernels::bf16;
using kernels::fp16;
using kernels::In;
using kernels::Matrix;
using kernels::Out;
using schedule::Access;
using schedule::DataType;
using schedule::OpKind;
using schedule::Role;

// Whether what lies there as `element` may be taken for T.
template <typename T>
bool is_stored_as(Element element) {
  using Plain = std::remove_const_t<T>;
  switch (element) {
    case Element::fp64: return std::is_same_v<Plain, double>;
    case Element::fp32: return std::is_same_v<Plain, float>;
    case Element::bf16: return std::is_same_v<Plain, bf16>;
    case Element::fp16: return std::is_same_v<Plain, fp16>;
    case Element::int32: return std::is_same_v<Plain, std::int32_t>;
    case Element::byte: return std::is_same_v<Plain, std::uint8_t>;
  }
  return false;
}

// Some of the rows; what is absent stays so.
template <typename T>
Matrix<T> rows_of(Matrix<T> m, std::int64_t first, std::int64_t count) {
  return m.exists() ? Matrix<T>{m.row(first), count, m.columns, m.stride} : m;
}
template <typename T>
Out<T> rows_of(Out<T> out, std::int64_t first, std::int64_t count) {
  return {rows_of(out.view, first, count), out.adds};
}

class Operands {
 public:
  Operands(const OpCall& call, bool in_double) : call_(call), in_double_(in_double) {
    const int at = call.op().op->kind == OpKind::route_forward ? -1 : find(Role::counts);
    if (at >= 0)
      counts_ = expert_counts(*call.plan->schedule, call.plan->rank,
                              reinterpret_cast<const std::int32_t*>(call.data[static_cast<std::size_t>(at)]), view(at).columns);
  }

  const OpCall& call() const { return call_; }
  // Of an op of experts; views of extents have the rows that these say.
  const ExpertCounts& counts() const {
    CHECK(counts_.counts != nullptr, "an extent is touched without counts", describe(*call_.plan, call_.id));
    return counts_;
  }
  const schedule::KernelShape& shape() const { return call_.shape(); }
  bool has(Role role) const { return find(role) >= 0; }
  Element type(Role role) const { return type_at(need(role)); }

  // Absent operands are null.
  template <typename T>
  In<T> in(Role role) const {
    return place<T>(find(role));
  }
  // A vector, which kernels take as one row; a slice of a unit may be one column.
  template <typename T>
  In<T> row(Role role) const {
    const In<T> v = place<T>(find(role));
    CHECK(v.rows <= 1 || (v.columns == 1 && v.stride == 1), "a vector with gaps", schedule::name(role));
    return {v.data, v.data == nullptr ? 0 : 1, v.count(), v.count()};
  }
  template <typename T>
  Out<T> out(Role role) const {
    const int at = find(role);
    return {place<T>(at), at >= 0 && access(at) == Access::update};
  }
  template <typename T>
  Matrix<T> place(Role role) const {
    return place<T>(find(role));
  }
  template <typename T>
  Matrix<T> place(int at) const {
    if (at < 0) return {};
    CHECK(is_stored_as<T>(type_at(at)), "an operand of another type", schedule::name(view(at).role), describe(*call_.plan, call_.id));
    const schedule::View& v = *call_.views()[static_cast<std::size_t>(at)].view;
    const schedule::Extent extent = buffer(at).extent;
    const std::int64_t rows = extent == schedule::Extent::fixed ? v.rows : counts().rows_of(extent);
    CHECK(rows <= v.rows, "more rows than are reserved", rows, v.rows);
    return {reinterpret_cast<T*>(call_.data[static_cast<std::size_t>(at)]), rows, v.columns,
            v.rows == 1 ? v.columns : v.row_stride};
  }

  int count() const { return static_cast<int>(call_.data.size()); }
  int find(Role role, int from = 0) const {
    for (int i = from; i < count(); ++i)
      if (view(i).role == role && view(i).count() > 0) return i;
    return -1;
  }
  int need(Role role) const {
    const int at = find(role);
    CHECK(at >= 0, "no operand", schedule::name(role), describe(*call_.plan, call_.id));
    return at;
  }
  const schedule::View& view(int at) const { return *call_.views()[static_cast<std::size_t>(at)].view; }
  Access access(int at) const { return view(at).access; }
  const PlannedView& planned(int at) const { return call_.views()[static_cast<std::size_t>(at)]; }
  const schedule::Buffer& buffer(int at) const {
    return call_.plan->buffer(call_.plan->allocations[planned(at).allocation]);
  }
  Element type_at(int at) const { return element_of(buffer(at).type, in_double_); }

 private:
  const OpCall& call_;
  bool in_double_;
  ExpertCounts counts_;
};

template <typename T>
struct TypeTag {
  using Type = T;
};

// f(TypeTag<T>) for the floating type of the elements.
template <typename F>
void with_float(Element type, F&& f) {
  switch (type) {
    case Element::fp64: return f(TypeTag<double>{});
    case Element::fp32: return f(TypeTag<float>{});
    case Element::bf16: return f(TypeTag<bf16>{});
    case Element::fp16: return f(TypeTag<fp16>{});
    case Element::int32:
    case Element::byte: break;
  }
  CHECK(false, "a kernel over floating types got integers");
}

// f(TypeTag<T>, TypeTag<G>) where G, the type of a gradient or of logits, is T, or float where T has 16 bits.
template <typename F>
void with_gradient(Element type, Element gradient, F&& f) {
  with_float(type, [&](auto t) {
    using T = typename decltype(t)::Type;
    if (type == gradient) return f(t, t);
    if constexpr (sizeof(T) == 2) {
      CHECK(gradient == Element::fp32, "a gradient of another type");
      f(t, TypeTag<float>{});
    } else {
      CHECK(false, "a gradient of another type");
    }
  });
}

}  // namespace orrery::runtime
