// How the references read and write: everything as double, rounded once to the operand's type.
#pragma once

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels::reference {

template <typename T>
double value(Matrix<T> m, std::int64_t row, std::int64_t column) {
  return static_cast<double>(widen(m.at(row, column)));
}

template <typename T>
void put(Out<T> out, std::int64_t row, std::int64_t column, double result) {
  T& to = out.view.at(row, column);
  to = narrow<T>(static_cast<Wide<T>>(result + (out.adds ? value(out.view, row, column) : 0.0)));
}

}  // namespace orrery::kernels::reference
