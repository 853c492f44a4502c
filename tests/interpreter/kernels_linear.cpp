#include "tests/interpreter/kernels_linear.h"

#include "base/check.h"

namespace orrery::interpreter {

void gemm_forward(ConstView x, ConstView w, OptionalInput bias, Output y) {
  CHECK(x.rows == y.view.rows && x.columns == w.columns && w.rows == y.view.columns, x.rows, x.columns, w.rows,
        w.columns, y.view.rows, y.view.columns);
  if (bias) CHECK(bias->count() == w.rows, bias->count(), w.rows);
  for (std::int64_t i = 0; i < x.rows; ++i)
    for (std::int64_t j = 0; j < w.rows; ++j) {
      double sum = bias ? (*bias)[j] : 0.0;
      for (std::int64_t k = 0; k < x.columns; ++k) sum += x.at(i, k) * w.at(j, k);
      y.put(i, j, sum);
    }
}

void gemm_input_gradient(ConstView dy, ConstView w, Output dx) {
  CHECK(dy.rows == dx.view.rows && dy.columns == w.rows && w.columns == dx.view.columns, dy.rows, dy.columns, w.rows,
        w.columns, dx.view.rows, dx.view.columns);
  for (std::int64_t i = 0; i < dy.rows; ++i)
    for (std::int64_t j = 0; j < w.columns; ++j) {
      double sum = 0.0;
      for (std::int64_t k = 0; k < w.rows; ++k) sum += dy.at(i, k) * w.at(k, j);
      dx.put(i, j, sum);
    }
}

void gemm_weight_gradient(ConstView dy, ConstView x, Output dw) {
  CHECK(dy.rows == x.rows && dy.columns == dw.view.rows && x.columns == dw.view.columns, dy.rows, dy.columns, x.rows,
        x.columns, dw.view.rows, dw.view.columns);
  for (std::int64_t i = 0; i < dy.columns; ++i)
    for (std::int64_t j = 0; j < x.columns; ++j) {
      double sum = 0.0;
      for (std::int64_t r = 0; r < x.rows; ++r) sum += dy.at(r, i) * x.at(r, j);
      dw.put(i, j, sum);
    }
}

void bias_backward(ConstView dy, Output dbias) {
  CHECK(dbias.view.count() == dy.columns, dbias.view.count(), dy.columns);
  for (std::int64_t j = 0; j < dy.columns; ++j) {
    double sum = 0.0;
    for (std::int64_t r = 0; r < dy.rows; ++r) sum += dy.at(r, j);
    dbias.put(j, sum);
  }
}

}  // namespace orrery::interpreter
