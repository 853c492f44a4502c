// The flat parameter vector of a unit (an embedding, a layer, a head) on one tensor-parallel rank:
//   [replicated vectors | sharded vectors | sharded matrices | replicated matrices | padding]
// so that what is decayed (matrices) and what is equal on all tensor ranks are ranges, and projections that
// run as one GEMM (query|key|value, gate|up) are adjacent. Padded to a multiple of the data-parallel size,
// for ZeRO's shards.
#pragma once

#include <string_view>
#include <vector>

#include "schedule/ir.h"

namespace orrery::schedule {

Unit layout_unit(UnitKind kind, const std::vector<models::Parameter>& parameters, std::int64_t tp,
                 std::int64_t dp);

// The rank's `local` experts of one layer: [gate, up of each | down of each | padding], so that the products of all experts
// with one kind of weight read one range. Cut over etp like an MLP; padded to a multiple of their replicas.
Unit layout_experts(const std::vector<models::Parameter>& of_one, std::int64_t local, std::int64_t etp,
                    std::int64_t edp);

// The slice of that name, or null.
const Slice* find_slice(const Unit& unit, std::string_view name);

}  // namespace orrery::schedule
