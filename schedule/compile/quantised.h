// ZeRO++'s quantised traffic (Wang et al. 2023): weights are gathered as 8-bit codes (qwZ, section 3.1), gradients are
// scattered as 4-bit codes by all_to_all, first within a node and then across nodes, with the sum in between in full
// precision (qgZ, section 3.3). Each hop is quantise, all_to_all, dequantise and add.
//
// The full gradient is [shards x shard], shard j for the rank of index j; with g ranks a node, j = node * g + local. The first
// hop sends to each local rank its rows of all nodes, so the quantisation writes them local-major: one strided view of x for
// each local rank ("tensor slice reordering", figure 6).
#pragma once

#include "schedule/compile/stage.h"

namespace orrery::schedule {

KernelShape quantised_weights(const Stage& s);
KernelShape quantised_gradients(const Stage& s);

// Rows of codes for rows of `columns` elements.
Tensor codes(Stage& s, BlockBuilder& b, const std::string& name, std::int64_t rows, std::int64_t columns,
             const KernelShape& shape);

// The ops that turn `full` into this rank's sum `target`, [1 x shard]. The first of them alone reads `full`: where that is
// the unit's own gradient, it follows the unit's backward and records the event of the gradient.
struct ScatterMode {
  UnitKind kind = UnitKind::layer;
  Stream stream = Stream::data;
  bool reads_unit = true;
};
void scatter_quantised(Stage& s, BlockBuilder& b, const ScatterMode& mode, Tensor full, Tensor target);

}  // namespace orrery::schedule
