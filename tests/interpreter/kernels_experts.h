// Experts: the choice of a router, tokens' rows by expert and back, a product for each expert. Plain loops.
#pragma once

#include <vector>

#include "schedule/op.h"
#include "tests/interpreter/tensor_view.h"

namespace orrery::interpreter {

// Who sends how many rows to which expert: counts [members x experts], member = tensor index * ep + index; the ranks of
// index i have experts [i * local, (i + 1) * local).
struct CountTable {
  ConstView counts;
  std::int64_t ep = 1, etp = 1, index = 0, tensor_index = 0;
  std::int64_t local() const { return counts.columns / ep; }
  std::int64_t senders() const { return ep * etp; }
  std::int64_t rows(std::int64_t sender, std::int64_t expert) const;  // of a local expert
  std::int64_t rows_between(std::int64_t tensor, std::int64_t from, std::int64_t to) const;  // all experts of `to`
  std::int64_t received(std::int64_t tensor) const;  // by this index, from the senders of that tensor index
  std::int64_t gathered() const;
  std::int64_t of_expert(std::int64_t expert) const;  // from all senders
};

// routes[t, j]: the expert, or -1 - expert where it had no room.
void route_forward(const schedule::KernelShape& shape, ConstView x, OptionalInput bias, Output w, Output routes,
                   Output counts);
void route_backward(const schedule::KernelShape& shape, ConstView dw, ConstView x, ConstView routes, Output dx);

void permute(ConstView x, ConstView routes, Output y);
void combine(ConstView x, ConstView routes, OptionalInput w, Output y);
void combine_backward(ConstView dy, ConstView x, ConstView routes, ConstView w, Output dx, Output dw);

void expert_sort(const CountTable& table, ConstView x, Output y, bool back);

// a, b, result: x w y; dy w dx; dy x dw.
void grouped_gemm(const CountTable& table, schedule::Layout layout, ConstView a, ConstView b, Output result);

}  // namespace orrery::interpreter
