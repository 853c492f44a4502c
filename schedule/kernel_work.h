// FLOPs and bytes of an op, as pure functions of its shape and views.
#pragma once

#include "base/units.h"
#include "schedule/ir.h"

namespace orrery::schedule {

struct KernelWork {
  Flops flops;  // 2 per multiply-add; matrix products and attention, as executed (causal kernels: half the
                // square)
  Flops model_flops;  // what "model FLOPs" counts: attention in full or causal is the report's choice, see
                      // `square`
  Flops square;       // the part of model_flops that is an s x s attention square, counted in full
  Bytes read,
      written;  // minimal traffic: every view once (update: both); of looked-up tables the rows looked up
};
// `op` must be an element of program.ops, not a copy (its block is found by its place).
KernelWork work_of(const Program& program, const Op& op, const KernelShape& shape);

// Bytes of one rank's message: all_reduce and broadcast: its buffer; reduce_scatter, all_gather: the full,
// gathered size (as nccl-tests counts); send, recv: the view; copies: the view.
// Bytes of a row of elements behind `quantise`: codes, and a float for each block (shape.n bits, shape.k elements).
std::int64_t payload_bytes(std::int64_t columns, const KernelShape& shape);

Bytes message_bytes(const Program& program, const Op& op);

}  // namespace orrery::schedule
