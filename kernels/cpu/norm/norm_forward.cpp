// One pass over memory: a row is read once for its statistics, which also asks for y, and is in the cache
// when it is normed, while the next row is fetched. n = (x - mean) * inverse is computed as x * inverse +
// shift.
#include "kernels/cpu/norm/norm.h"
#include "kernels/cpu/norm/statistics.h"

namespace orrery::kernels {
namespace {

struct WideWeight;
struct WideBias;

// What all segments (rows, or heads of rows) of a call share.
template <typename T>
struct Scaling {
  const Wide<T>*w, *bias;  // as the lanes of pairs stand
  std::int64_t count;
  bool adds;
};

template <typename T>
ORRERY_ALWAYS_INLINE Wide<T> squared_deviations(const T* x, const T* y, Wide<T> mean, std::int64_t count) {
  RunningSum<T, 4> sum;
  const auto pair = [&](std::int64_t i, int part) {
    __builtin_prefetch(y + i, 1);
    Lanes<T> v[2];
    load_pair(x + i, v);
    for (int h = 0; h < 2; ++h) sum.parts[part + h] += (v[h] - mean) * (v[h] - mean);
  };
  walk_row<T, 4>(count, pair,
                 [&](std::int64_t i) { sum.rest += (widen(x[i]) - mean) * (widen(x[i]) - mean); });
  return sum.total();
}

// next: elements from this segment to the one below it.
template <Norm norm, bool biased, typename T>
void forward_segment(const T* x, T* y, const Scaling<T> scaling, std::int64_t next) {
  using W = Wide<T>;
  const W mean = row_mean<norm>(x, scaling.count);
  const W per_element = W{1} / static_cast<W>(scaling.count);
  const W inverse = inverse_deviation(squared_deviations(x, y, mean, scaling.count) * per_element);
  const W shift = -mean * inverse;
  const auto pair = [&](std::int64_t i, int) {
    __builtin_prefetch(x + i + next);
    Lanes<T> v[2], w[2], bias[2] = {}, old[2];
    load_pair(x + i, v);
    load_pair(scaling.w + i, w);
    if constexpr (biased) load_pair(scaling.bias + i, bias);
    for (int h = 0; h < 2; ++h) v[h] = (v[h] * inverse + shift) * w[h] + bias[h];
    if (scaling.adds) {
      load_pair(y + i, old);
      for (int h = 0; h < 2; ++h) v[h] += old[h];
    }
    store_pair(y + i, v);
  };
  walk_row<T, 2>(scaling.count, pair, [&](std::int64_t i) {
    W v = (widen(x[i]) * inverse + shift) * scaling.w[i];
    if constexpr (biased) v += scaling.bias[i];
    y[i] = narrow<T>(scaling.adds ? v + widen(y[i]) : v);
  });
}

template <Norm norm, bool biased, typename T>
void forward(const In<T>& x, const Scaling<T>& scaling, const Out<T>& y) {
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < x.columns; c += scaling.count)
      forward_segment<norm, biased>(x.row(r) + c, y.view.row(r) + c, scaling, r + 1 < x.rows ? x.stride : 0);
}

}  // namespace

template <typename T>
void norm_forward(Norm norm, In<T> x, In<T> w, In<T> bias, Out<T> y) {
  const std::int64_t n = x.columns;
  const Scaling<T> scaling{wide_row<WideWeight>(w.data, n),
                           bias.exists() ? wide_row<WideBias>(bias.data, n) : nullptr, n, y.adds};
  if (norm == Norm::layer_norm)
    bias.exists() ? forward<Norm::layer_norm, true>(x, scaling, y)
                  : forward<Norm::layer_norm, false>(x, scaling, y);
  else
    bias.exists() ? forward<Norm::rms_norm, true>(x, scaling, y)
                  : forward<Norm::rms_norm, false>(x, scaling, y);
}

template <typename T>
void head_norm_forward(In<T> x, In<T> w, Out<T> y) {
  const Scaling<T> scaling{wide_row<WideWeight>(w.data, w.columns), nullptr, w.columns, y.adds};
  forward<Norm::rms_norm, false>(x, scaling, y);
}

template void norm_forward<float>(Norm, In<float>, In<float>, In<float>, Out<float>);
template void norm_forward<double>(Norm, In<double>, In<double>, In<double>, Out<double>);
template void norm_forward<bf16>(Norm, In<bf16>, In<bf16>, In<bf16>, Out<bf16>);
template void norm_forward<fp16>(Norm, In<fp16>, In<fp16>, In<fp16>, Out<fp16>);
template void head_norm_forward<float>(In<float>, In<float>, Out<float>);
template void head_norm_forward<double>(In<double>, In<double>, Out<double>);
template void head_norm_forward<bf16>(In<bf16>, In<bf16>, Out<bf16>);
template void head_norm_forward<fp16>(In<fp16>, In<fp16>, Out<fp16>);

}  // namespace orrery::kernels
