#include "tests/interpreter/kernels_quantise.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace orrery::interpreter {
namespace {

std::int64_t code_cells(std::int64_t columns, QuantiseFormat f) { return (columns * f.bits + 7) / 8; }

double scale_of(ConstView x, std::int64_t row, std::int64_t begin, std::int64_t end, int bits) {
  double largest = 0.0;
  for (std::int64_t c = begin; c < end; ++c) largest = std::max(largest, std::abs(x.at(row, c)));
  return static_cast<double>(static_cast<float>(largest / ((1 << (bits - 1)) - 1)));
}

int code_of(double value, double scale, int bits) {
  const double limit = (1 << (bits - 1)) - 1;
  return scale > 0.0 ? static_cast<int>(std::clamp(std::nearbyint(value / scale), -limit, limit)) : 0;
}

double value_of(double cell, std::int64_t column, double scale, int bits) {
  int code = static_cast<int>(cell);
  if (bits == 4) code = column % 2 == 0 ? code % 16 : code / 16;
  const int range = 1 << bits;
  return scale * (code >= range / 2 ? code - range : code);
}

}  // namespace

void quantise(ConstView x, QuantiseFormat f, TensorView y) {
  for (std::int64_t r = 0; r < x.rows; ++r) {
    for (std::int64_t c = 0; c < y.columns; ++c) y.at(r, c) = 0.0;
    std::int64_t scale_cell = code_cells(x.columns, f);
    for (std::int64_t begin = 0; begin < x.columns; begin += f.block, scale_cell += 4) {
      const std::int64_t end = std::min(x.columns, begin + f.block);
      const double scale = scale_of(x, r, begin, end, f.bits);
      y.at(r, scale_cell) = scale;
      for (std::int64_t c = begin; c < end; ++c) {
        const int code = code_of(x.at(r, c), scale, f.bits) & ((1 << f.bits) - 1);
        y.at(r, c * f.bits / 8) += f.bits == 4 && c % 2 == 1 ? code * 16 : code;
      }
    }
  }
}

void dequantise(ConstView x, QuantiseFormat f, const Output& y) {
  const std::int64_t columns = y.view.columns;
  for (std::int64_t i = 0; i < y.view.rows; ++i)
    for (std::int64_t c = 0; c < columns; ++c) {
      double sum = 0.0;
      for (std::int64_t r = i; r < x.rows; r += y.view.rows)
        sum += value_of(x.at(r, c * f.bits / 8), c, x.at(r, code_cells(columns, f) + c / f.block * 4), f.bits);
      y.put(i * columns + c, sum);
    }
}

}  // namespace orrery::interpreter
