// Four segments (rows, or heads of rows) at a time: first, one by one, the statistics from x and the means of g and g n, which
// brings x and dy into the cache; then dx and the sums over rows (dw, dbias) of all four in one pass, so that the sums, a
// row each, are loaded and stored a quarter as often.
#include <algorithm>

#include "kernels/cpu/norm/norm.h"
#include "kernels/cpu/norm/statistics.h"
#include "kernels/scratch.h"

namespace orrery::kernels {
namespace {

constexpr std::int64_t kGroup = 4;

template <typename T>
struct Segment {
  const T *dy, *x;
  T* dx;
  Wide<T> mean, inverse, mean_g, mean_gn;
};

template <typename T>
struct Shared {
  const T* w;
  std::int64_t count;
  Wide<T>*dw, *dbias;  // sums over rows so far
  bool adds;           // to dx
};

template <Norm norm, typename T>
void reduce(Segment<T>& s, const Shared<T>& shared) {
  using W = Wide<T>;
  constexpr std::int64_t L = lane_count<T>;
  const RowStatistics<W> t = row_statistics<norm>(s.x, shared.count);
  Lanes<T> g[2] = {}, gn[2] = {};
  W rest_g = 0, rest_gn = 0;
  const auto add = [&](auto dy, auto x, auto w, auto& sum_g, auto& sum_gn) {
    const auto scaled = dy * w;
    sum_g += scaled;
    sum_gn += scaled * ((x - t.mean) * t.inverse);
  };
  std::int64_t i = 0;
  for (; i + 2 * L <= shared.count; i += 2 * L) {
    add(load(s.dy + i), load(s.x + i), load(shared.w + i), g[0], gn[0]);
    add(load(s.dy + i + L), load(s.x + i + L), load(shared.w + i + L), g[1], gn[1]);
  }
  for (; i < shared.count; ++i) add(widen(s.dy[i]), widen(s.x[i]), widen(shared.w[i]), rest_g, rest_gn);
  const auto n = static_cast<W>(shared.count);
  s.mean = t.mean;
  s.inverse = t.inverse;
  s.mean_g = norm == Norm::layer_norm ? (sum(g[0] + g[1]) + rest_g) / n : 0;
  s.mean_gn = (sum(gn[0] + gn[1]) + rest_gn) / n;
}

// Lanes (or the one element) from i on, of all segments of the group.
template <std::int64_t segments, bool biased, typename T>
ORRERY_ALWAYS_INLINE void write_lanes(const Segment<T>* group, const Shared<T>& shared, std::int64_t i) {
  const Lanes<T> w = load(shared.w + i);
  Lanes<T> dw = load(shared.dw + i), dbias = {};
  if constexpr (biased) dbias = load(shared.dbias + i);
  for (std::int64_t k = 0; k < segments; ++k) {
    const Segment<T>& s = group[k];
    const Lanes<T> dy = load(s.dy + i), n = (load(s.x + i) - s.mean) * s.inverse;
    Lanes<T> dx = (dy * w - s.mean_g - n * s.mean_gn) * s.inverse;
    if (shared.adds) dx += load(s.dx + i);
    store(s.dx + i, dx);
    dw += dy * n;
    if constexpr (biased) dbias += dy;
  }
  store(shared.dw + i, dw);
  if constexpr (biased) store(shared.dbias + i, dbias);
}
template <std::int64_t segments, bool biased, typename T>
ORRERY_ALWAYS_INLINE void write_one(const Segment<T>* group, const Shared<T>& shared, std::int64_t i) {
  for (std::int64_t k = 0; k < segments; ++k) {
    const Segment<T>& s = group[k];
    const Wide<T> dy = widen(s.dy[i]), n = (widen(s.x[i]) - s.mean) * s.inverse;
    const Wide<T> dx = (dy * widen(shared.w[i]) - s.mean_g - n * s.mean_gn) * s.inverse;
    s.dx[i] = narrow<T>(shared.adds ? dx + widen(s.dx[i]) : dx);
    shared.dw[i] += dy * n;
    if constexpr (biased) shared.dbias[i] += dy;
  }
}

template <std::int64_t segments, Norm norm, bool biased, typename T>
void backward_group(Segment<T>* group, const Shared<T>& shared) {
  for (std::int64_t k = 0; k < segments; ++k) reduce<norm>(group[k], shared);
  std::int64_t i = 0;
  for (; i + lane_count<T> <= shared.count; i += lane_count<T>) write_lanes<segments, biased>(group, shared, i);
  for (; i < shared.count; ++i) write_one<segments, biased>(group, shared, i);
}

template <Norm norm, bool biased, typename T>
void backward(const In<T>& dy, const In<T>& x, const Out<T>& dx, const Shared<T>& shared) {
  Segment<T> group[kGroup];
  std::int64_t held = 0;
  for (std::int64_t r = 0; r < x.rows; ++r)
    for (std::int64_t c = 0; c < x.columns; c += shared.count) {
      group[held++] = {dy.row(r) + c, x.row(r) + c, dx.view.row(r) + c, 0, 0, 0, 0};
      if (held < kGroup) continue;
      backward_group<kGroup, norm, biased>(group, shared);
      held = 0;
    }
  for (std::int64_t k = 0; k < held; ++k) backward_group<1, norm, biased>(group + k, shared);
}

// Sums over rows begin at 0.
struct WeightSums;
struct BiasSums;
template <typename Tag, typename W>
W* zeros(std::int64_t count) {
  W* sums = scratch<Tag, W>(count);
  std::fill(sums, sums + count, W{0});
  return sums;
}

template <typename G>
void put_sums(const Wide<G>* sums, std::int64_t count, const Out<G>& to) {
  to.adds ? add_row(sums, to.view.data, count) : narrow_row(sums, to.view.data, count);
}

}  // namespace

template <typename T, typename G>
void norm_backward(Norm norm, In<T> dy, In<T> x, In<T> w, const NormGradients<T, G>& gradients) {
  using W = Wide<T>;
  const bool biased = gradients.dbias.exists();
  const Shared<T> shared{w.data, x.columns, zeros<WeightSums, W>(x.columns),
                         biased ? zeros<BiasSums, W>(x.columns) : nullptr, gradients.dx.adds};
  if (norm == Norm::layer_norm)
    biased ? backward<Norm::layer_norm, true>(dy, x, gradients.dx, shared)
           : backward<Norm::layer_norm, false>(dy, x, gradients.dx, shared);
  else
    biased ? backward<Norm::rms_norm, true>(dy, x, gradients.dx, shared)
           : backward<Norm::rms_norm, false>(dy, x, gradients.dx, shared);
  put_sums(shared.dw, shared.count, gradients.dw);
  if (biased) put_sums(shared.dbias, shared.count, gradients.dbias);
}

template <typename T, typename G>
void head_norm_backward(In<T> dy, In<T> x, In<T> w, Out<T> dx, Out<G> dw) {
  const Shared<T> shared{w.data, w.columns, zeros<WeightSums, Wide<T>>(w.columns), nullptr, dx.adds};
  backward<Norm::rms_norm, false>(dy, x, dx, shared);
  put_sums(shared.dw, shared.count, dw);
}

#define ORRERY_INSTANTIATE(T, G)                                                               \
  template void norm_backward<T, G>(Norm, In<T>, In<T>, In<T>, const NormGradients<T, G>&); \
  template void head_norm_backward<T, G>(In<T>, In<T>, In<T>, Out<T>, Out<G>);
ORRERY_INSTANTIATE(float, float)
ORRERY_INSTANTIATE(double, double)
ORRERY_INSTANTIATE(bf16, bf16)
ORRERY_INSTANTIATE(bf16, float)
ORRERY_INSTANTIATE(fp16, fp16)
ORRERY_INSTANTIATE(fp16, float)
#undef ORRERY_INSTANTIATE

}  // namespace orrery::kernels
