// Token and position tables. The token table may be a block of vocabulary rows: `first_row` is the vocabulary index
// of its row 0, and tokens outside give 0. Rows of the activations are position * batch + sequence.
#pragma once

#include <vector>

#include "tests/interpreter/tensor_view.h"

namespace orrery::interpreter {

void embedding_forward(ConstView tokens, ConstView w, std::int64_t first_row, Output y);
void embedding_backward(ConstView tokens, ConstView dy, std::int64_t first_row, Output dw);

struct Positions {
  std::int64_t batch = 1;
  std::vector<std::int64_t> rows;  // of the whole microbatch
  std::int64_t of_row(std::int64_t r) const { return rows[static_cast<std::size_t>(r)] / batch; }
};
void position_forward(ConstView w, const Positions& positions, TensorView y);  // y += w[position]
void position_backward(ConstView dy, const Positions& positions, Output dw);

}  // namespace orrery::interpreter
