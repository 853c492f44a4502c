// What a kernel sees of a buffer: a rectangle of doubles, row-major with a row stride. Kernels take views and plain
// numbers only, so that each can be tested alone. `Output` carries the access of a schedule's view: `write` replaces,
// `update` accumulates. Whatever the device type (bf16, int32, byte), the interpreter stores a double.
#pragma once

#include <cstdint>
#include <optional>

namespace orrery::interpreter {

template <typename T>
struct BasicView {
  T* data = nullptr;
  std::int64_t rows = 0, columns = 0, stride = 0;
  T& at(std::int64_t r, std::int64_t c) const { return data[r * stride + c]; }
  // Element i of the rectangle in row-major order.
  T& operator[](std::int64_t i) const { return at(i / columns, i % columns); }
  std::int64_t count() const { return rows * columns; }
};

using TensorView = BasicView<double>;

struct ConstView : BasicView<const double> {
  ConstView() = default;
  ConstView(const TensorView& v) : BasicView<const double>{v.data, v.rows, v.columns, v.stride} {}
};

using OptionalInput = std::optional<ConstView>;

struct Output {
  TensorView view;
  bool accumulates = false;
  void put(std::int64_t r, std::int64_t c, double value) const { store(view.at(r, c), value); }
  void put(std::int64_t i, double value) const { store(view[i], value); }
  // Makes an output that is about to be added to piece by piece start from zero, unless it accumulates.
  void clear() const {
    if (accumulates) return;
    for (std::int64_t i = 0; i < view.count(); ++i) view[i] = 0.0;
  }
  void store(double& place, double value) const { place = accumulates ? place + value : value; }
};

using OptionalOutput = std::optional<Output>;

}  // namespace orrery::interpreter
