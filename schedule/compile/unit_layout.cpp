#include "schedule/compile/unit_layout.h"

#include "base/check.h"

namespace orrery::schedule {
namespace {

Slice local_slice(const models::Parameter& p, std::int64_t tp) {
  Slice slice{.parameter = p, .offset = 0, .rows = p.rows, .columns = p.columns};
  if (p.sharding == models::Sharding::rows) {
    CHECK(p.rows % tp == 0, p.name, p.rows, tp);
    slice.rows /= tp;
  } else if (p.sharding == models::Sharding::columns) {
    CHECK(p.columns % tp == 0, p.name, p.columns, tp);
    slice.columns /= tp;
  }
  return slice;
}

}  // namespace

Unit layout_unit(UnitKind kind, const std::vector<models::Parameter>& parameters, std::int64_t tp,
                 std::int64_t dp) {
  Unit unit;
  unit.kind = kind;
  const auto append = [&](bool replicated, bool vector) {
    for (const models::Parameter& p : parameters) {
      const bool is_replicated = p.sharding == models::Sharding::replicated;
      if (is_replicated != replicated || (p.columns == 1) != vector) continue;
      Slice slice = local_slice(p, tp);
      slice.offset = unit.used;
      unit.used += slice.rows * slice.columns;
      unit.slices.push_back(std::move(slice));
    }
  };
  append(true, true);
  unit.replicated_until = unit.used;
  append(false, true);
  unit.decay_from = unit.used;
  append(false, false);
  unit.replicated_from = unit.used;
  append(true, false);
  unit.elements = (unit.used + dp - 1) / dp * dp;
  return unit;
}

Unit layout_experts(const std::vector<models::Parameter>& of_one, std::int64_t local, std::int64_t etp,
                    std::int64_t edp) {
  Unit unit;
  unit.kind = UnitKind::experts;
  const auto append = [&](bool down) {
    for (std::int64_t e = 0; e < local; ++e)
      for (const models::Parameter& p : of_one) {
        if ((p.name == "down") != down) continue;
        CHECK(p.columns > 1 && p.sharding != models::Sharding::replicated, p.name);
        Slice slice = local_slice(p, etp);
        slice.expert = e;
        slice.offset = unit.used;
        unit.used += slice.rows * slice.columns;
        unit.slices.push_back(std::move(slice));
      }
  };
  append(false);
  append(true);
  unit.replicated_from = unit.used;
  unit.elements = (unit.used + edp - 1) / edp * edp;
  return unit;
}

const Slice* find_slice(const Unit& unit, std::string_view name) {
  for (const Slice& s : unit.slices)
    if (s.parameter.name == name) return &s;
  return nullptr;
}

}  // namespace orrery::schedule
