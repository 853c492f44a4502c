// F, then B, then W, of every unit and microbatch. One pass over the walked calls, then one over the (unit,
// microbatch) pairs met. Cost: O(calls).
#include "schedule/verify/order.h"

#include <fmt/format.h>

#include <map>

#include "schedule/text/op.h"

namespace orrery::schedule {
namespace {

// Weight gradients are a block's GEMMs dw += dy^T x. A whole backward has them beside the input's gradient; where a
// schedule runs them apart they are blocks of a phase of their own.
struct Direction {
  bool forward = false, backward = false, weights = false;
};

bool is_model_kernel(OpKind kind) { return kind >= OpKind::gemm && kind <= OpKind::cross_entropy_backward; }

Direction direction_of(const Schedule& s, const Program& p, const Block& block) {
  Direction d;
  for (const Op& op : p.ops_of(block)) {
    if (!is_model_kernel(op.kind)) continue;
    d.forward = d.forward || op.phase == Phase::forward;
    d.backward = d.backward || op.phase == Phase::backward;
    const bool weights = op.kind == OpKind::gemm && s.shapes[op.shape].layout == Layout::nt;
    d.weights = d.weights || op.phase == Phase::weight_gradient || (weights && op.phase == Phase::backward);
  }
  return d;
}

struct Runs {
  bool forward = false, backward = false, weights = false;
  bool wrong = false;          // forward after backward
  bool weights_first = false;  // weight gradients apart, before the backward
  std::uint32_t shown = 0;
};

struct UnitRuns {
  std::map<std::uint32_t, Runs> microbatches;
  std::int64_t forward = 0, backward = 0, weights = 0;  // microbatches
};

std::string unit_text(const Program& p, std::uint32_t unit) {
  if (unit >= p.units.size()) return fmt::format("unit {}", unit);
  if (p.units[unit].kind == UnitKind::layer)
    return fmt::format("unit {} (layer {})", unit, p.units[unit].layer);
  return fmt::format("unit {} ({})", unit, name(p.units[unit].kind));
}

}  // namespace

namespace {

// The rank of another program runs the same unit, for other microbatches.
bool is_shared(const Schedule& schedule, std::size_t program, std::uint32_t unit) {
  const Program& here = schedule.programs[program];
  if (unit >= here.units.size()) return false;
  for (const Program& p : schedule.programs)
    for (const Unit& u : p.units)
      if (&p != &here && u.kind == here.units[unit].kind && u.layer == here.units[unit].layer &&
          u.tied_copy != here.units[unit].tied_copy)
        return true;
  return false;
}

}  // namespace

void check_copies(const Schedule& schedule, const CopyRuns& copies, const Cut& cut, Findings& findings) {
  for (const auto& [unit, runs] : copies)
    if (runs != schedule.microbatches - cut.skip)
      findings.add(fmt::format("{} {}: its copies run {} of {} microbatches", name(unit.first), unit.second,
                               runs + cut.skip, schedule.microbatches));
}

void check_order(const Schedule& schedule, std::size_t program, const Walk& walk, const Cut& cut,
                 CopyRuns& copies, Findings& findings) {
  const Program& p = *walk.program;
  std::vector<Direction> directions;
  for (const Block& block : p.blocks) directions.push_back(direction_of(schedule, p, block));
  std::map<std::uint32_t, UnitRuns> units;
  for (const WalkedCall& c : walk.calls) {
    const Call& call = p.calls[c.call];
    const Direction d = directions[call.block.index()];
    if (!d.forward && !d.backward && !d.weights) continue;
    UnitRuns& unit = units[call.unit];
    Runs& runs = unit.microbatches[c.microbatch];
    runs.shown = c.shown;
    if (d.forward && runs.backward) runs.wrong = true;
    if (d.weights && !d.backward && !runs.backward) runs.weights_first = true;
    if (d.forward && !runs.forward) ++unit.forward;
    if (d.backward && !runs.backward) ++unit.backward;
    runs.forward = runs.forward || d.forward;
    if (d.weights && !runs.weights) ++unit.weights;
    runs.backward = runs.backward || d.backward;
    runs.weights = runs.weights || d.weights;
  }
  const std::int64_t expected = schedule.microbatches - cut.skip;
  const auto fail = [&](std::uint32_t unit, const std::string& what) {
    if (findings.is_new("order of forward and backward", program, unit))
      findings.add(fmt::format("program {}: {} {}", as_name(p.name), unit_text(p, unit), what));
  };
  for (const auto& [unit, runs] : units) {
    if (runs.backward == 0 && runs.weights == 0) continue;
    for (const auto& [microbatch, r] : runs.microbatches) {
      if (r.backward && !r.forward)
        fail(unit, fmt::format("runs microbatch {} backward but never forward", r.shown));
      else if (r.wrong)
        fail(unit, fmt::format("runs microbatch {} backward before forward", r.shown));
      else if (r.weights_first)
        fail(unit, fmt::format("runs microbatch {}'s weight gradients before its backward", r.shown));
      else if (r.backward && !r.weights && runs.weights > 0)
        fail(unit, fmt::format("runs microbatch {} backward but its weight gradients never", r.shown));
      else if (!r.backward)
        fail(unit, fmt::format("runs microbatch {} forward but never backward", r.shown));
    }
    if (is_shared(schedule, program, unit))
      copies[{p.units[unit].kind, p.units[unit].layer}] += runs.forward;
    else if (runs.forward == runs.backward && runs.forward != expected)
      fail(unit, fmt::format("runs {} of {} microbatches", runs.forward + cut.skip, schedule.microbatches));
  }
}

}  // namespace orrery::schedule
