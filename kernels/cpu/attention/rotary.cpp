// Heads of a row share its cosines and sines, so a table row is read once from memory for all of them.
#include "kernels/cpu/attention/rotary.h"

#include <cmath>
#include <vector>

#include "kernels/lane_loop.h"

namespace orrery::kernels {
namespace {

// cosine and sine of every position's angles: [positions x d/2] each.
template <typename W>
struct RotaryTable {
  std::int64_t head_dim = 0, positions = 0;
  std::vector<W> cosine, sine;
};

template <typename W>
void fill_table(std::int64_t head_dim, std::int64_t positions, RotaryTable<W>& table) {
  const std::int64_t half = head_dim / 2;
  table.head_dim = head_dim;
  table.positions = positions;
  table.cosine.resize(static_cast<std::size_t>(positions * half));
  table.sine.resize(table.cosine.size());
  for (std::int64_t i = 0; i < half; ++i) {
    const double frequency = std::pow(10000.0, -static_cast<double>(2 * i) / static_cast<double>(head_dim));
    for (std::int64_t position = 0; position < positions; ++position) {
      const double angle = static_cast<double>(position) * frequency;
      table.cosine[static_cast<std::size_t>(position * half + i)] = static_cast<W>(std::cos(angle));
      table.sine[static_cast<std::size_t>(position * half + i)] = static_cast<W>(std::sin(angle));
    }
  }
}

template <typename W>
const RotaryTable<W>& rotary_table(std::int64_t head_dim, std::int64_t positions) {
  static thread_local RotaryTable<W> table;
  if (table.head_dim != head_dim || table.positions < positions) fill_table(head_dim, positions, table);
  return table;
}

// One head of one row. `direction`: 1 forward, -1 back.
template <typename T, typename W = Wide<T>>
void turn(T* first, std::int64_t half, const W* cosine, const W* sine, W direction) {
  T* second = first + half;
  for_lanes<T>(half, [&](std::int64_t i, auto extent) {
    const Lanes<W> c = load(cosine + i, extent), s = load(sine + i, extent) * direction;
    const Lanes<W> x = load(first + i, extent), y = load(second + i, extent);
    store(first + i, x * c - y * s, extent);
    store(second + i, y * c + x * s, extent);
  });
}

template <typename T>
void rotate(const RotaryShape& r, Matrix<T> x, Wide<T> direction) {
  const std::int64_t half = r.head_dim / 2;
  const auto& table = rotary_table<Wide<T>>(r.head_dim, r.first_position + (x.rows + r.batch - 1) / r.batch);
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const std::int64_t position = r.first_position + row / r.batch;
    const Wide<T>*cosine = table.cosine.data() + position * half, *sine = table.sine.data() + position * half;
    for (std::int64_t head = 0; head < x.columns; head += r.head_dim)
      turn(x.row(row) + head, half, cosine, sine, direction);
  }
}

}  // namespace

template <typename T>
void rotary_forward(const RotaryShape& r, Matrix<T> x) {
  rotate(r, x, Wide<T>{1});
}
template <typename T>
void rotary_backward(const RotaryShape& r, Matrix<T> dx) {
  rotate(r, dx, Wide<T>{-1});
}

template void rotary_forward<float>(const RotaryShape&, Matrix<float>);
template void rotary_forward<double>(const RotaryShape&, Matrix<double>);
template void rotary_forward<bf16>(const RotaryShape&, Matrix<bf16>);
template void rotary_forward<fp16>(const RotaryShape&, Matrix<fp16>);
template void rotary_backward<float>(const RotaryShape&, Matrix<float>);
template void rotary_backward<double>(const RotaryShape&, Matrix<double>);
template void rotary_backward<bf16>(const RotaryShape&, Matrix<bf16>);
template void rotary_backward<fp16>(const RotaryShape&, Matrix<fp16>);

}  // namespace orrery::kernels
