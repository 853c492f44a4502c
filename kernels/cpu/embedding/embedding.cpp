// Both backward kernels are one: rows of dy, in order, grouped by the table row that they go to.
#include "kernels/cpu/embedding/embedding.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "kernels/lane_loop.h"

namespace orrery::kernels {
namespace {

template <typename T>
void zero_row(T* to, std::int64_t count) {
  std::memset(static_cast<void*>(to), 0, static_cast<std::size_t>(count) * sizeof(T));
}

// Row `from` of dy belongs to row `to` of dw.
struct Arrow {
  std::int64_t to = 0, from = 0;
};

// Adds groups of rows to their table rows. Arrows of one table row stand together.
template <typename T, typename G>
void scatter(const std::vector<Arrow>& arrows, In<T> dy, Out<G> dw) {
  if (!dw.adds)
    for (std::int64_t r = 0; r < dw.view.rows; ++r) zero_row(dw.view.row(r), dw.view.columns);
  std::vector<Wide<T>> sum(static_cast<std::size_t>(dy.columns));
  for (std::size_t i = 0; i < arrows.size();) {
    const std::int64_t to = arrows[i].to;
    widen_row(dy.row(arrows[i].from), sum.data(), dy.columns);
    for (++i; i < arrows.size() && arrows[i].to == to; ++i) {
      const T* const row = dy.row(arrows[i].from);
      for_lanes<T>(dy.columns, [&](std::int64_t c, auto extent) {
        put(sum.data() + c, load(row + c, extent), true, extent);
      });
    }
    add_row(sum.data(), dw.view.row(to), dy.columns);
  }
}

}  // namespace

template <typename T>
void embedding_forward(Tokens tokens, In<T> w, std::int64_t first_row, Out<T> y) {
  assert(tokens.contiguous() && tokens.count() == y.view.rows && w.columns == y.view.columns);
  for (std::int64_t r = 0; r < y.view.rows; ++r) {
    const std::int64_t row = tokens.data[r] - first_row;
    T* const to = y.view.row(r);
    const bool here = row >= 0 && row < w.rows;
    if (here && y.adds)
      for_lanes<T>(w.columns, [&](std::int64_t c, auto extent) {
        put(to + c, load(w.row(row) + c, extent), true, extent);
      });
    else if (here)
      std::memcpy(to, w.row(row), static_cast<std::size_t>(w.columns) * sizeof(T));
    else if (!y.adds)
      zero_row(to, w.columns);
  }
}

template <typename T, typename G>
void embedding_backward(Tokens tokens, In<T> dy, std::int64_t first_row, Out<G> dw) {
  assert(tokens.contiguous() && tokens.count() == dy.rows && dy.columns == dw.view.columns);
  std::vector<Arrow> arrows;
  arrows.reserve(static_cast<std::size_t>(dy.rows));
  for (std::int64_t r = 0; r < dy.rows; ++r) {
    const std::int64_t row = tokens.data[r] - first_row;
    if (row >= 0 && row < dw.view.rows) arrows.push_back({row, r});
  }
  std::stable_sort(arrows.begin(), arrows.end(), [](const Arrow& a, const Arrow& b) { return a.to < b.to; });
  scatter(arrows, dy, dw);
}

template <typename T>
void position_forward(In<T> w, const Positions& positions, Matrix<T> y) {
  assert(w.columns == y.columns && (y.rows == 0 || positions.of_row(y.rows - 1) < w.rows));
  for (std::int64_t r = 0; r < y.rows; ++r) {
    const T* const from = w.row(positions.of_row(r));
    T* const to = y.row(r);
    for_lanes<T>(w.columns,
                 [&](std::int64_t c, auto extent) { put(to + c, load(from + c, extent), true, extent); });
  }
}

template <typename T, typename G>
void position_backward(In<T> dy, const Positions& positions, Out<G> dw) {
  assert(dw.view.columns == dy.columns && (dy.rows == 0 || positions.of_row(dy.rows - 1) < dw.view.rows));
  std::vector<Arrow> arrows(static_cast<std::size_t>(dy.rows));
  for (std::int64_t r = 0; r < dy.rows; ++r) arrows[static_cast<std::size_t>(r)] = {positions.of_row(r), r};
  scatter(arrows, dy, dw);
}

#define ORRERY_FORWARD(T)                                               \
  template void embedding_forward(Tokens, In<T>, std::int64_t, Out<T>); \
  template void position_forward(In<T>, const Positions&, Matrix<T>)
ORRERY_FORWARD(double);
ORRERY_FORWARD(float);
ORRERY_FORWARD(bf16);
ORRERY_FORWARD(fp16);
#undef ORRERY_FORWARD

#define ORRERY_BACKWARD(T, G)                                            \
  template void embedding_backward(Tokens, In<T>, std::int64_t, Out<G>); \
  template void position_backward(In<T>, const Positions&, Out<G>)
ORRERY_BACKWARD(double, double);
ORRERY_BACKWARD(float, float);
ORRERY_BACKWARD(bf16, bf16);
ORRERY_BACKWARD(bf16, float);
ORRERY_BACKWARD(fp16, fp16);
ORRERY_BACKWARD(fp16, float);
#undef ORRERY_BACKWARD

}  // namespace orrery::kernels
