// Cross entropy over a sharded vocabulary, in its four parts.
#include "kernels/cpu/loss/cross_entropy.h"
#include "runtime/cpu/perform.h"

namespace orrery::runtime {
namespace {

template <typename L>
kernels::VocabularyBlock<L> block_of(const PerformContext& c) {
  const Operands& o = c.operands;
  const auto logits = o.in<L>(Role::x);
  const bool whole = o.call().op().op->group == schedule::kNoGroup;
  return {logits, o.in<std::int32_t>(Role::labels), whole ? 0 : c.placement.shard_index() * logits.columns};
}

void over_logits(const PerformContext& c, OpKind kind) {
  const Operands& o = c.operands;
  with_float(o.type(Role::x), [&](auto t) {
    using L = typename decltype(t)::Type;
    using W = kernels::Wide<L>;
    if (kind == OpKind::cross_entropy_max) return kernels::cross_entropy_max<L>(o.in<L>(Role::x), o.place<W>(Role::stats));
    if (kind == OpKind::cross_entropy_sum) return kernels::cross_entropy_sum<L>(block_of<L>(c), o.place<W>(Role::stats));
    kernels::cross_entropy_backward<L>(block_of<L>(c), o.in<W>(Role::stats), o.shape().scale, c.loss_scale, o.out<L>(Role::dx));
  });
}

// Adds the microbatch's loss to the rank's.
double sum_loss(const Operands& o) {
  double loss = 0.0;
  with_float(o.type(Role::stats), [&](auto t) {
    using W = typename decltype(t)::Type;
    if constexpr (sizeof(W) >= 4) {
      loss = kernels::cross_entropy_loss<W>(o.place<W>(Role::stats), o.shape().scale);
      if (const auto total = o.out<W>(Role::loss); total.exists())
        *total.view.data = static_cast<W>(total.adds ? static_cast<double>(*total.view.data) + loss : loss);
    } else {
      CHECK(false, "statistics of 16 bits");
    }
  });
  return loss;
}

}  // namespace

bool perform_loss(const PerformContext& c, double& loss) {
  const OpKind kind = c.operands.call().op().op->kind;
  if (kind == OpKind::cross_entropy_loss) loss = sum_loss(c.operands);
  else if (kind == OpKind::cross_entropy_max || kind == OpKind::cross_entropy_sum || kind == OpKind::cross_entropy_backward)
    over_logits(c, kind);
  else return false;
  return true;
}

}  // namespace orrery::runtime
