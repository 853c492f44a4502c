// The tables as plain loops over double, for tests: one row and one column at a time, rounded once.
#pragma once

#include <vector>

#include "kernels/cpu/embedding/embedding.h"

namespace orrery::kernels::reference {

template <typename T>
void embedding_forward(Tokens tokens, In<T> w, std::int64_t first_row, Out<T> y) {
  for (std::int64_t r = 0; r < y.view.rows; ++r)
    for (std::int64_t c = 0; c < w.columns; ++c) {
      const std::int64_t row = tokens.data[r] - first_row;
      const T value = row >= 0 && row < w.rows ? w.at(row, c) : T(0);
      T& to = y.view.at(r, c);
      to = y.adds ? narrow<T>(widen(to) + widen(value)) : value;
    }
}

// dw[target(r)] += dy[r] for the rows r whose target is a row of dw.
template <typename T, typename G, typename Target>
void scatter(In<T> dy, Out<G> dw, Target target) {
  for (std::int64_t row = 0; row < dw.view.rows; ++row)
    for (std::int64_t c = 0; c < dy.columns; ++c) {
      double sum = dw.adds ? static_cast<double>(widen(dw.view.at(row, c))) : 0.0;
      for (std::int64_t r = 0; r < dy.rows; ++r)
        if (target(r) == row) sum += static_cast<double>(widen(dy.at(r, c)));
      dw.view.at(row, c) = narrow<G>(static_cast<Wide<G>>(sum));
    }
}

template <typename T, typename G>
void embedding_backward(Tokens tokens, In<T> dy, std::int64_t first_row, Out<G> dw) {
  scatter(dy, dw, [&](std::int64_t r) { return tokens.data[r] - first_row; });
}

template <typename T>
void position_forward(In<T> w, const Positions& positions, Matrix<T> y) {
  for (std::int64_t r = 0; r < y.rows; ++r)
    for (std::int64_t c = 0; c < y.columns; ++c)
      y.at(r, c) = narrow<T>(widen(y.at(r, c)) + widen(w.at(positions.of_row(r), c)));
}

template <typename T, typename G>
void position_backward(In<T> dy, const Positions& positions, Out<G> dw) {
  scatter(dy, dw, [&](std::int64_t r) { return positions.of_row(r); });
}

}  // namespace orrery::kernels::reference
