#include "tests/interpreter/kernels_latent.h"

#include <algorithm>
#include <vector>

#include "tests/interpreter/kernels_attention.h"

namespace orrery::interpreter {
namespace {

TensorView rotary_part(const schedule::KernelShape& s, TensorView all, std::int64_t head) {
  all.data += (head + 1) * s.head_dim - s.rope_dim;
  all.columns = s.rope_dim;
  return all;
}

}  // namespace

void latent_forward(const schedule::KernelShape& s, TensorView q, ConstView x, ConstView shared,
                    const LatentOutputs& out) {
  const std::int64_t nope = s.head_dim - s.rope_dim;
  std::vector<double> key(static_cast<std::size_t>(shared.count()));
  for (std::int64_t i = 0; i < shared.count(); ++i) key[static_cast<std::size_t>(i)] = shared[i];
  const TensorView rotated{key.data(), shared.rows, shared.columns, shared.columns};
  rotary(rotated, s.batch, s.rope_dim, 1.0);
  for (std::int64_t h = 0; h < s.heads; ++h) {
    rotary(rotary_part(s, q, h), s.batch, s.rope_dim, 1.0);
    for (std::int64_t r = 0; r < x.rows; ++r)
      for (std::int64_t i = 0; i < s.head_dim; ++i) {
        const std::int64_t from = h * (nope + s.value_dim);
        out.k.put(r, h * s.head_dim + i, i < nope ? x.at(r, from + i) : rotated.at(r, i - nope));
        out.v.put(r, h * s.head_dim + i, i < s.value_dim ? x.at(r, from + nope + i) : 0.0);
      }
  }
}

void latent_backward(const schedule::KernelShape& s, TensorView dq, ConstView dk, ConstView dv, Output dx,
                     Output dshared) {
  const std::int64_t nope = s.head_dim - s.rope_dim;
  std::vector<double> sum(static_cast<std::size_t>(dk.rows * s.rope_dim), 0.0);
  const TensorView key{sum.data(), dk.rows, s.rope_dim, s.rope_dim};
  for (std::int64_t h = 0; h < s.heads; ++h) {
    rotary(rotary_part(s, dq, h), s.batch, s.rope_dim, -1.0);
    for (std::int64_t r = 0; r < dk.rows; ++r) {
      const std::int64_t to = h * (nope + s.value_dim), from = h * s.head_dim;
      for (std::int64_t i = 0; i < nope; ++i) dx.put(r, to + i, dk.at(r, from + i));
      for (std::int64_t i = 0; i < s.value_dim; ++i) dx.put(r, to + nope + i, dv.at(r, from + i));
      for (std::int64_t i = 0; i < s.rope_dim; ++i) key.at(r, i) += dk.at(r, from + nope + i);
    }
  }
  rotary(key, s.batch, s.rope_dim, -1.0);
  for (std::int64_t i = 0; i < key.count(); ++i) dshared.put(i, key[i]);
}

void resize_heads(const schedule::KernelShape& s, ConstView x, Output y) {
  const std::int64_t from = x.columns / s.heads, to = y.view.columns / s.heads;
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t i = 0; i < to; ++i) y.put(r, h * to + i, i < from ? x.at(r, h * from + i) : 0.0);
}

}  // namespace orrery::interpreter
