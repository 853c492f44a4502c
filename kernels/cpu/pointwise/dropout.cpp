// Each row's mask bytes are drawn first, into the mask itself, then read back from the first-level cache
// beside the row.
#include "kernels/cpu/pointwise/dropout.h"

#include <algorithm>
#include <cassert>

#include "kernels/cpu/pointwise/column_sums.h"
#include "kernels/lane_loop.h"
#include "kernels/lane_math.h"
#include "kernels/random.h"

namespace orrery::kernels {
namespace {

using Mask = Matrix<std::uint8_t>;
constexpr std::int64_t kBlock = 512;  // columns whose mask is drawn, then used

template <typename T>
using LaneBits = std::conditional_t<std::is_same_v<T, double>, lanes_detail::Bits64, lanes_detail::Bits32>;
using FourBytes = std::uint8_t __attribute__((vector_size(4)));
using EightBytes = std::uint8_t __attribute__((vector_size(8)));

// v where the mask byte is 1, else 0, whatever v is.
template <typename T, typename Extent>
ORRERY_ALWAYS_INLINE Lanes<T> kept(Lanes<T> v, const std::uint8_t* mask, Extent extent) {
  std::conditional_t<std::is_same_v<T, double>, FourBytes, EightBytes> bytes{};
  if constexpr (std::is_same_v<Extent, WholeLanes>) {
    std::memcpy(&bytes, mask, sizeof bytes);
  } else {
    for (std::int64_t i = 0; i < extent.count; ++i) bytes[i] = mask[i];
  }
  const auto ones = -__builtin_convertvector(bytes, LaneBits<T>);
  return (Lanes<T>)((LaneBits<T>)v & ones);
}

void draw_mask(const Dropout& dropout, std::int64_t r, std::int64_t c, std::int64_t count,
               std::uint8_t* mask) {
  const Dropout::Draws draws = dropout.of_row(r);
  keep_row(draws.key, draws.first_element + c, count, drop_threshold(dropout.probability), mask);
}

// to = residual + scale * (x + bias) where kept; null pointers: absent.
template <typename T>
struct Row {
  const T *x = nullptr, *bias = nullptr, *residual = nullptr;
  const std::uint8_t* mask = nullptr;
  T* to = nullptr;
};

template <typename T>
ORRERY_ALWAYS_INLINE void drop_row(const Row<T>& row, std::int64_t count, Wide<T> scale, bool adds) {
  for_lanes<T>(count, [&](std::int64_t i, auto extent) {
    fetch_ahead(row.x, i);
    fetch_ahead(row.residual, i);
    auto v = load(row.x + i, extent) + load_or_zero(row.bias, i, extent);
    if (row.mask != nullptr) v = kept<T>(v * scale, row.mask + i, extent);
    put(row.to + i, v + load_or_zero(row.residual, i, extent), adds, extent);
  });
}

// Without a mask, nothing is dropped.
template <typename T>
void forward(const Dropout& dropout, In<T> x, In<T> bias, In<T> residual, Out<T> y, Mask mask) {
  const auto scale = static_cast<Wide<T>>(dropout.scale());
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < x.columns; c += kBlock) {
      const std::int64_t count = std::min(kBlock, x.columns - c);
      Row<T> row{.x = x.row(r) + c, .to = y.view.row(r) + c};
      if (bias.exists()) row.bias = bias.data + c;
      if (residual.exists()) row.residual = residual.row(r) + c;
      if (mask.exists()) {
        draw_mask(dropout, r, c, count, mask.row(r) + c);
        row.mask = mask.row(r) + c;
      }
      drop_row(row, count, scale, y.adds);
    }
}

template <typename A, typename B>
bool same_shape(Matrix<A> a, Matrix<B> b) {
  return a.rows == b.rows && a.columns == b.columns;
}

}  // namespace

template <typename T>
void dropout_forward(const Dropout& dropout, In<T> x, Out<T> y, Mask mask) {
  assert(same_shape(x, y.view) && same_shape(x, mask));
  if (dropout.probability > 0.0) return forward<T>(dropout, x, {}, {}, y, mask);
  for (std::int64_t r = 0; r < mask.rows; ++r) std::fill_n(mask.row(r), mask.columns, std::uint8_t{1});
  forward<T>(dropout, x, {}, {}, y, {});
}

template <typename T>
void dropout_backward(double probability, In<T> dy, In<std::uint8_t> mask, Out<T> dx) {
  bias_dropout_add_backward<T, T>(probability, dy, mask, dx, {});
}

template <typename T>
void bias_dropout_add_forward(const Dropout& dropout, In<T> x, In<T> bias, In<T> residual, Out<T> y,
                              Mask mask) {
  assert(same_shape(x, y.view) && (!residual.exists() || same_shape(x, residual)));
  assert(mask.exists() == (dropout.probability > 0.0) && (!mask.exists() || same_shape(x, mask)));
  assert(!bias.exists() || (bias.contiguous() && bias.count() == x.columns));
  forward(dropout, x, bias, residual, y, mask);
}

template <typename T, typename G>
void bias_dropout_add_backward(double probability, In<T> dy, In<std::uint8_t> mask, Out<T> dx, Out<G> dbias) {
  assert(mask.exists() || probability <= 0.0);
  assert(!dx.exists() || same_shape(dy, dx.view));
  const auto scale = static_cast<Wide<T>>(1.0 / (1.0 - probability));
  ColumnSums<T, G> sums(dbias, dy.columns);
  for (std::int64_t r = 0; r < dy.rows; ++r) {
    const T* const from = dy.row(r);
    const std::uint8_t* const bytes = mask.exists() ? mask.row(r) : nullptr;
    T* const to = dx.exists() ? dx.view.row(r) : nullptr;
    for_lanes<T>(dy.columns, [&](std::int64_t i, auto extent) {
      fetch_ahead(from, i);
      fetch_ahead(bytes, i);
      auto v = load(from + i, extent);
      if (bytes != nullptr) v = kept<T>(v * scale, bytes + i, extent);
      sums.add(i, v, extent);
      if (to != nullptr) put(to + i, v, dx.adds, extent);
    });
  }
  sums.write();
}

#define ORRERY_DROPOUT(T)                                                  \
  template void dropout_forward(const Dropout&, In<T>, Out<T>, Mask);      \
  template void dropout_backward(double, In<T>, In<std::uint8_t>, Out<T>); \
  template void bias_dropout_add_forward(const Dropout&, In<T>, In<T>, In<T>, Out<T>, Mask)
ORRERY_DROPOUT(double);
ORRERY_DROPOUT(float);
ORRERY_DROPOUT(bf16);
ORRERY_DROPOUT(fp16);
#undef ORRERY_DROPOUT

#define ORRERY_BACKWARD(T, G) \
  template void bias_dropout_add_backward(double, In<T>, In<std::uint8_t>, Out<T>, Out<G>)
ORRERY_BACKWARD(double, double);
ORRERY_BACKWARD(float, float);
ORRERY_BACKWARD(bf16, bf16);
ORRERY_BACKWARD(bf16, float);
ORRERY_BACKWARD(fp16, fp16);
ORRERY_BACKWARD(fp16, float);
#undef ORRERY_BACKWARD

}  // namespace orrery::kernels
