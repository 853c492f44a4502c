// One pass over memory: a row is read once for its statistics and is in the cache when it is normed.
#include "kernels/cpu/norm/norm.h"
#include "kernels/cpu/norm/statistics.h"

namespace orrery::kernels {
namespace {

// What all segments of a call share.
template <typename T>
struct Scaling {
  const T *w, *bias;
  std::int64_t count;
  bool adds;
};

template <Norm norm, bool biased, typename T>
void forward_segment(const T* x, const Scaling<T>& s, T* y) {
  constexpr std::int64_t L = lane_count<T>;
  const RowStatistics<Wide<T>> t = row_statistics<norm>(x, s.count);
  std::int64_t i = 0;
  for (; i + L <= s.count; i += L) {
    Lanes<T> value = (load(x + i) - t.mean) * t.inverse * load(s.w + i);
    if constexpr (biased) value += load(s.bias + i);
    if (s.adds) value += load(y + i);
    store(y + i, value);
  }
  for (; i < s.count; ++i) {
    Wide<T> value = (widen(x[i]) - t.mean) * t.inverse * widen(s.w[i]);
    if constexpr (biased) value += widen(s.bias[i]);
    if (s.adds) value += widen(y[i]);
    y[i] = narrow<T>(value);
  }
}

template <Norm norm, bool biased, typename T>
void forward(const In<T>& x, const Scaling<T>& scaling, const Out<T>& y) {
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < x.columns; c += scaling.count)
      forward_segment<norm, biased>(x.row(r) + c, scaling, y.view.row(r) + c);
}

}  // namespace

template <typename T>
void norm_forward(Norm norm, In<T> x, In<T> w, In<T> bias, Out<T> y) {
  const Scaling<T> scaling{w.data, bias.data, x.columns, y.adds};
  if (norm == Norm::layer_norm)
    bias.exists() ? forward<Norm::layer_norm, true>(x, scaling, y) : forward<Norm::layer_norm, false>(x, scaling, y);
  else
    bias.exists() ? forward<Norm::rms_norm, true>(x, scaling, y) : forward<Norm::rms_norm, false>(x, scaling, y);
}

template <typename T>
void head_norm_forward(In<T> x, In<T> w, Out<T> y) {
  forward<Norm::rms_norm, false>(x, Scaling<T>{w.data, nullptr, w.columns, y.adds}, y);
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
