// What a kernel sees: rectangles of elements, row-major, each row `stride` elements behind the one before. Kernels
// take these and plain numbers, allocate nothing that a caller must free, and know no other room.
//
// An input whose data is null is absent (no bias, no mask). An Out says whether results replace what is there or are
// added to it (the `write` and `update` of a schedule's view).
#pragma once

#include <cstdint>

namespace orrery::kernels {

template <typename T>
struct Matrix {
  T* data = nullptr;
  std::int64_t rows = 0, columns = 0, stride = 0;

  T* row(std::int64_t r) const { return data + r * stride; }
  T& at(std::int64_t r, std::int64_t c) const { return data[r * stride + c]; }
  std::int64_t count() const { return rows * columns; }
  bool exists() const { return data != nullptr; }
  bool contiguous() const { return rows <= 1 || stride == columns; }
  operator Matrix<const T>() const {  // NOLINT(google-explicit-constructor): as T* becomes const T*
    return {data, rows, columns, stride};
  }
};

template <typename T>
using In = Matrix<const T>;

template <typename T>
struct Out {
  Matrix<T> view;
  bool adds = false;
  bool exists() const { return view.exists(); }
};

}  // namespace orrery::kernels
