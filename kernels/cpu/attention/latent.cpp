#include "kernels/cpu/attention/latent.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace orrery::kernels {
namespace {

// Turns the halves of `n` numbers by position * 10000^(-2i/n); direction -1: back.
template <typename T>
void turn(const T* from, T* to, std::int64_t n, std::int64_t position, double direction) {
  for (std::int64_t i = 0; i < n / 2; ++i) {
    const double angle =
        static_cast<double>(position) * std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(n));
    const auto c = static_cast<Wide<T>>(std::cos(angle)), s = static_cast<Wide<T>>(direction * std::sin(angle));
    const Wide<T> a = widen(from[i]), b = widen(from[i + n / 2]);
    to[i] = narrow<T>(a * c - b * s);
    to[i + n / 2] = narrow<T>(b * c + a * s);
  }
}

}  // namespace

template <typename T>
void latent_forward(const LatentShape& shape, Matrix<T> q, In<T> x, In<T> shared, Matrix<T> k, Matrix<T> v) {
  const std::int64_t d = shape.head_dim, rope = shape.rope_dim, nope = d - rope, value = shape.value_dim;
  thread_local std::vector<T> key;
  key.resize(static_cast<std::size_t>(rope));
  for (std::int64_t r = 0; r < q.rows; ++r) {
    const std::int64_t position = r / shape.batch;
    turn<T>(shared.row(r), key.data(), rope, position, 1.0);
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const T* const from = x.row(r) + h * (nope + value);
      T* const q_rope = q.row(r) + h * d + nope;
      T* const k_head = k.row(r) + h * d;
      T* const v_head = v.row(r) + h * d;
      turn<T>(q_rope, q_rope, rope, position, 1.0);
      std::copy_n(from, nope, k_head);
      std::copy_n(key.data(), rope, k_head + nope);
      std::copy_n(from + nope, value, v_head);
      std::fill(v_head + value, v_head + d, T{});
    }
  }
}

template <typename T>
void latent_backward(const LatentShape& shape, Matrix<T> dq, In<T> dk, In<T> dv, Matrix<T> dx, Matrix<T> dshared) {
  const std::int64_t d = shape.head_dim, rope = shape.rope_dim, nope = d - rope, value = shape.value_dim;
  thread_local std::vector<Wide<T>> sum;
  thread_local std::vector<T> key;
  key.resize(static_cast<std::size_t>(rope));
  for (std::int64_t r = 0; r < dq.rows; ++r) {
    const std::int64_t position = r / shape.batch;
    sum.assign(static_cast<std::size_t>(rope), 0);
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      T* const to = dx.row(r) + h * (nope + value);
      T* const q_rope = dq.row(r) + h * d + nope;
      turn<T>(q_rope, q_rope, rope, position, -1.0);
      std::copy_n(dk.row(r) + h * d, nope, to);
      std::copy_n(dv.row(r) + h * d, value, to + nope);
      for (std::int64_t i = 0; i < rope; ++i) sum[static_cast<std::size_t>(i)] += widen(dk.at(r, h * d + nope + i));
    }
    for (std::int64_t i = 0; i < rope; ++i) key[static_cast<std::size_t>(i)] = narrow<T>(sum[static_cast<std::size_t>(i)]);
    turn<T>(key.data(), dshared.row(r), rope, position, -1.0);
  }
}

template <typename T>
void resize_heads(std::int64_t heads, In<T> x, Matrix<T> y) {
  const std::int64_t from = x.columns / heads, to = y.columns / heads, kept = std::min(from, to);
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t h = 0; h < heads; ++h) {
      T* const head = y.row(r) + h * to;
      std::copy_n(x.row(r) + h * from, kept, head);
      std::fill(head + kept, head + to, T{});
    }
}

#define ORRERY_LATENT(T)                                                                       \
  template void latent_forward(const LatentShape&, Matrix<T>, In<T>, In<T>, Matrix<T>, Matrix<T>);  \
  template void latent_backward(const LatentShape&, Matrix<T>, In<T>, In<T>, Matrix<T>, Matrix<T>); \
  template void resize_heads(std::int64_t, In<T>, Matrix<T>)
ORRERY_LATENT(double);
ORRERY_LATENT(float);
ORRERY_LATENT(bf16);
ORRERY_LATENT(fp16);
#undef ORRERY_LATENT

}  // namespace orrery::kernels
