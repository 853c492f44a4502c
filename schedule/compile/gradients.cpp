#include "schedule/compile/gradients.h"

#include "schedule/compile/blocks.h"
#include "schedule/compile/unit_layout.h"

namespace orrery::schedule {

void begin_gradients(Stage& s, BlockBuilder& b, UnitKind kind) {
  s.gradients_life[static_cast<std::size_t>(kind)] = s.accumulates_whole() ? Life::bound : Life::born;
  if (s.zero(kind) < 2 || s.accumulates_whole()) return;
  const Tensor gradients = flat_gradients(s, b, kind);
  b.begin_after(gradients.formal);
  b.add(OpKind::fill, {out(Role::y, gradients)});
}

bool sync_replicated_block(Stage& s, UnitKind kind, BlockId& block) {
  if (!s.tensor_parallel() || kind == UnitKind::experts) return false;
  const Unit& unit = s.unit(kind);
  BlockBuilder b(s.schedule, s.program, "sync_replicated_gradients", Phase::backward);
  s.gradients_life.fill(Life::bound);
  std::vector<Operand> views;
  const auto range = [&](std::int64_t from, std::int64_t to) {
    if (from < to)
      views.push_back(accumulate(Role::y, columns_of(flat_gradients(s, b, kind), from, to - from)));
  };
  if (s.sequence_parallel()) {
    range(0, unit.replicated_until);
    range(unit.replicated_from, unit.used);
  } else {
    for (const char* name : {"attention.query_norm", "attention.key_norm"})
      if (const Slice* slice = find_slice(unit, name)) range(slice->offset, slice->offset + slice->rows);
  }
  if (views.empty()) return false;
  b.add(OpKind::all_reduce, views).group(kTensor).record(done(s, b, kind));
  block = b.finish();
  return true;
}

}  // namespace orrery::schedule
