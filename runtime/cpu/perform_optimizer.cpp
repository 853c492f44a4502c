// Optimizer steps, gradient norms and top-k selection, on flat vectors of a unit.
#include "kernels/cpu/optimizer/gradient_norm.h"
#include "kernels/cpu/optimizer/optimizer_step.h"
#include "kernels/cpu/optimizer/top_k.h"
#include "kernels/cpu/pointwise/copy.h"
#include "runtime/cpu/perform.h"

namespace orrery::runtime {
namespace {

// Where a view of a unit's flat vector begins: in a buffer with room for the whole vector, at its offset; in one of
// elements / shards, behind the shards of the members before it.
kernels::FlatRange flat_range(const PerformContext& c, Role role) {
  const Operands& o = c.operands;
  const schedule::Unit* const unit = o.call().op().unit;
  const int at = o.need(role);
  CHECK(unit != nullptr, "an optimizer op needs a unit");
  kernels::FlatRange range{o.planned(at).offset, unit->decay_from, unit->replicated_until, unit->replicated_from, unit->used};
  const std::int64_t room = o.buffer(at).elements;
  if (room >= unit->elements) return range;
  CHECK(room * unit->optimizer_shards == unit->elements, "neither the unit's elements nor one of its shards", room);
  range.first += c.placement.index_in(unit->shard_group) * room;
  return range;
}

template <typename T>
Matrix<T> flat(Matrix<T> m) {
  CHECK(m.rows <= 1 || m.stride == m.columns, "an optimizer's vector has gaps");
  return {m.data, 1, m.count(), m.count()};
}

double read_norm(const Operands& o) {
  if (!o.has(Role::norm)) return 0.0;
  return o.type(Role::norm) == Element::fp64 ? *o.in<double>(Role::norm).data : static_cast<double>(*o.in<float>(Role::norm).data);
}

kernels::OptimizerNumbers numbers_of(const PerformContext& c, std::int64_t step) {
  const schedule::Hyper& h = c.job.schedule->hyper;
  CHECK(h.clip_gradient_norm == 0.0 || c.operands.has(Role::norm), "clipping is on and the op has no norm");
  return {.learning_rate = h.learning_rate,
          .weight_decay = h.weight_decay,
          .beta1 = h.beta1,
          .beta2 = h.beta2,
          .epsilon = h.epsilon,
          .gradient_factor = kernels::gradient_factor(h.clip_gradient_norm, read_norm(c.operands), c.loss_scale),
          .step = step};
}

template <typename P, typename M, typename G, typename W>
void step(const PerformContext& c, std::int64_t optimizer_step) {
  const Operands& o = c.operands;
  const kernels::OptimizerVectors<P, M, G, W> vectors{
      flat(o.place<P>(Role::master)), flat(o.place<M>(Role::moment1)), flat(o.place<M>(Role::moment2)),
      flat(o.place<const G>(Role::dw)), flat(o.place<W>(Role::w))};
  const kernels::FlatRange range = flat_range(c, Role::master);
  const kernels::OptimizerNumbers numbers = numbers_of(c, optimizer_step);
  if (o.call().op().op->kind != OpKind::sgd) return kernels::adam<P, M, G, W>(vectors, range, numbers);
  if constexpr (sizeof(M) >= 4) kernels::sgd<P, M, G, W>(vectors, range, numbers);
  else CHECK(false, "momentum of 16 bits");
}

bool is_16_bit(Element s) { return s == Element::bf16 || s == Element::fp16; }

// f(TypeTag<float>) or f(TypeTag<T>), T the 16-bit type of the run.
template <typename T, typename F>
void float_or(Element type, F&& f) {
  if (is_16_bit(type)) return f(TypeTag<T>{});
  CHECK(type == Element::fp32, "an optimizer's operand of another type");
  f(TypeTag<float>{});
}

template <typename T>
void step_with_16_bits(const PerformContext& c, std::int64_t optimizer_step) {
  const Operands& o = c.operands;
  const Element moments = o.has(Role::moment1) ? o.type(Role::moment1) : Element::fp32;
  float_or<T>(o.type(Role::master), [&](auto p) {
    float_or<T>(moments, [&](auto m) {
      float_or<T>(o.type(Role::dw), [&](auto g) {
        using P = typename decltype(p)::Type;
        using M = typename decltype(m)::Type;
        using G = typename decltype(g)::Type;
        if (!o.has(Role::w) || is_16_bit(o.type(Role::w))) return step<P, M, G, T>(c, optimizer_step);
        if constexpr (std::is_same_v<P, float>) step<P, M, G, float>(c, optimizer_step);
        else CHECK(false, "wide weights of narrow masters");
      });
    });
  });
}

void optimize(const PerformContext& c, std::int64_t optimizer_step) {
  const Operands& o = c.operands;
  for (const Role role : {Role::w, Role::master, Role::moment1, Role::dw}) {
    if (!o.has(role)) continue;
    if (o.type(role) == Element::fp64) return step<double, double, double, double>(c, optimizer_step);
    if (o.type(role) == Element::bf16) return step_with_16_bits<bf16>(c, optimizer_step);
    if (o.type(role) == Element::fp16) return step_with_16_bits<fp16>(c, optimizer_step);
  }
  step<float, float, float, float>(c, optimizer_step);
}

// A skipped step leaves the parameters as they are; where weights are a copy of them, whoever reads it next expects one.
void write_weights_again(const Operands& o) {
  if (!o.has(Role::w)) return;
  with_float(o.type(Role::master), [&](auto p) {
    with_float(o.type(Role::w), [&](auto w) {
      using P = typename decltype(p)::Type;
      using W = typename decltype(w)::Type;
      kernels::cast<P, W>(o.in<P>(Role::master), {o.place<W>(Role::w), false});
    });
  });
}

void add_norm(const PerformContext& c) {
  const Operands& o = c.operands;
  double sum = 0.0;
  if (!o.call().op().unit->tied_copy)
    with_float(o.type(Role::x), [&](auto t) {
      using G = typename decltype(t)::Type;
      sum = kernels::squared_norm<G>(flat(o.place<const G>(Role::x)), flat_range(c, Role::x), c.placement.index_in(schedule::kTensor) == 0);
    });
  if (o.type(Role::y) == Element::fp64) *o.place<double>(Role::y).data += sum;
  else *o.place<float>(Role::y).data = static_cast<float>(static_cast<double>(*o.place<float>(Role::y).data) + sum);
}

void select(const Operands& o) {
  with_float(o.type(Role::x), [&](auto t) {
    using G = typename decltype(t)::Type;
    using W = kernels::Wide<G>;
    const auto selected = o.place<W>(Role::y);
    kernels::top_k_select<G>(flat(o.place<const G>(Role::x)), selected);
    for (int x = o.find(Role::x); x >= 0; x = o.find(Role::x, x + 1))
      if (o.access(x) == Access::update) kernels::top_k_keep_rest<G>(selected, flat(o.place<G>(x)));
  });
}

void apply(const PerformContext& c) {
  const Operands& o = c.operands;
  const std::int64_t first =
      o.call().op().op->group == schedule::kNoGroup ? 0 : c.placement.shard_index() * o.shape().m;
  with_float(o.type(Role::y), [&](auto t) {
    using G = typename decltype(t)::Type;
    kernels::top_k_apply<G>(o.in<kernels::Wide<G>>(Role::x), first, flat(o.place<G>(Role::y)));
  });
}

}  // namespace

bool perform_optimizer(const PerformContext& c, const OptimizerContext& optimizer) {
  const OpKind kind = c.operands.call().op().op->kind;
  if (kind == OpKind::adam || kind == OpKind::cpu_adam || kind == OpKind::sgd) {
    optimizer.skips ? write_weights_again(c.operands) : optimize(c, optimizer.optimizer_step);
  } else if (kind == OpKind::gradient_norm) {
    add_norm(c);
  } else if (kind == OpKind::top_k_select) {
    select(c.operands);
  } else if (kind == OpKind::top_k_apply) {
    apply(c);
  } else {
    return false;
  }
  return true;
}

}  // namespace orrery::runtime
