// Block quantisation in doubles: one cell of the interpreter's memory is one byte of what is sent. A scale is rounded to
// float, as it travels, and stands in the first of its four cells.
#pragma once

#include "tests/interpreter/tensor_view.h"

namespace orrery::interpreter {

struct QuantiseFormat {
  std::int64_t block = 1;
  int bits = 8;
};

void quantise(ConstView x, QuantiseFormat f, TensorView y);
// Row i of y is the sum of rows i, i + y.rows, ... of x.
void dequantise(ConstView x, QuantiseFormat f, const Output& y);

}  // namespace orrery::interpreter
