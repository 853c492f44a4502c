#include "tests/interpreter/kernels_embedding.h"

#include "base/check.h"

namespace orrery::interpreter {
namespace {

// The local row of row r's token, or nothing when another shard has it.
std::optional<std::int64_t> local_row(ConstView tokens, std::int64_t r, std::int64_t first_row, std::int64_t rows) {
  const auto row = static_cast<std::int64_t>(tokens[r]) - first_row;
  if (row < 0 || row >= rows) return std::nullopt;
  return row;
}

}  // namespace

void embedding_forward(ConstView tokens, ConstView w, std::int64_t first_row, Output y) {
  CHECK(tokens.count() == y.view.rows && w.columns == y.view.columns, tokens.count(), y.view.rows, w.columns);
  for (std::int64_t r = 0; r < y.view.rows; ++r) {
    const auto row = local_row(tokens, r, first_row, w.rows);
    for (std::int64_t c = 0; c < w.columns; ++c) y.put(r, c, row ? w.at(*row, c) : 0.0);
  }
}

void embedding_backward(ConstView tokens, ConstView dy, std::int64_t first_row, Output dw) {
  CHECK(tokens.count() == dy.rows && dy.columns == dw.view.columns, tokens.count(), dy.rows, dy.columns);
  dw.clear();
  for (std::int64_t r = 0; r < dy.rows; ++r)
    if (const auto row = local_row(tokens, r, first_row, dw.view.rows))
      for (std::int64_t c = 0; c < dy.columns; ++c) dw.view.at(*row, c) += dy.at(r, c);
}

void position_forward(ConstView w, const Positions& positions, TensorView y) {
  CHECK(w.columns == y.columns, w.rows, w.columns, y.rows, y.columns);
  for (std::int64_t r = 0; r < y.rows; ++r) CHECK(positions.of_row(r) < w.rows, r, w.rows);
  for (std::int64_t r = 0; r < y.rows; ++r)
    for (std::int64_t c = 0; c < y.columns; ++c) y.at(r, c) += w.at(positions.of_row(r), c);
}

void position_backward(ConstView dy, const Positions& positions, Output dw) {
  CHECK(dw.view.columns == dy.columns, dw.view.rows, dy.rows);
  dw.clear();
  for (std::int64_t r = 0; r < dy.rows; ++r) CHECK(positions.of_row(r) < dw.view.rows, r, dw.view.rows);
  for (std::int64_t r = 0; r < dy.rows; ++r)
    for (std::int64_t c = 0; c < dy.columns; ++c) dw.view.at(positions.of_row(r), c) += dy.at(r, c);
}

}  // namespace orrery::interpreter
