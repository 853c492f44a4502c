// What the products of gemm.h mean: plain loops, sums in double (rounded to the result's type at the end),
// for tests.
#pragma once

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels::reference {

template <typename T>
void put(const Out<T>& out, std::int64_t row, std::int64_t column, double value) {
  T& to = out.view.at(row, column);
  if (out.adds) value += static_cast<double>(widen(to));
  to = narrow<T>(static_cast<Wide<T>>(value));
}

template <typename T>
double read(const In<T>& in, std::int64_t row, std::int64_t column) {
  return static_cast<double>(widen(in.at(row, column)));
}

template <typename T>
void gemm_tn(In<T> x, In<T> w, In<T> bias, Out<T> y) {
  for (std::int64_t i = 0; i < x.rows; ++i)
    for (std::int64_t j = 0; j < w.rows; ++j) {
      double sum = bias.exists() ? read(bias, 0, j) : 0.0;
      for (std::int64_t p = 0; p < x.columns; ++p) sum += read(x, i, p) * read(w, j, p);
      put(y, i, j, sum);
    }
}

template <typename T>
void gemm_nn(In<T> dy, In<T> w, Out<T> dx) {
  for (std::int64_t i = 0; i < dy.rows; ++i)
    for (std::int64_t j = 0; j < w.columns; ++j) {
      double sum = 0.0;
      for (std::int64_t p = 0; p < dy.columns; ++p) sum += read(dy, i, p) * read(w, p, j);
      put(dx, i, j, sum);
    }
}

template <typename T, typename G>
void gemm_nt(In<T> dy, In<T> x, Out<G> dw) {
  for (std::int64_t i = 0; i < dy.columns; ++i)
    for (std::int64_t j = 0; j < x.columns; ++j) {
      double sum = 0.0;
      for (std::int64_t p = 0; p < dy.rows; ++p) sum += read(dy, p, i) * read(x, p, j);
      put(dw, i, j, sum);
    }
}

template <typename T, typename G>
void bias_backward(In<T> dy, Out<G> dbias) {
  for (std::int64_t c = 0; c < dy.columns; ++c) {
    double sum = 0.0;
    for (std::int64_t r = 0; r < dy.rows; ++r) sum += read(dy, r, c);
    put(dbias, 0, c, sum);
  }
}

}  // namespace orrery::kernels::reference
