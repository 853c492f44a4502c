// One segment (a row, or a head of a row) at a time, in two or three sweeps, which fetch from memory what
// later ones need: [the mean of x, fetching dy where rows are long (layer norm only);] sums for the
// coefficients of dx, fetching dx; dx and the sums over rows (dw, dbias), fetching x, and dy where rows are
// short, of the segment below. (Two or four rows in one pass load and store the sums less often, but write in
// as many places at once, and want more lines of one cache set than it has where rows are 4 KiB apart:
// slower.)
#include <algorithm>

#include "kernels/cpu/norm/norm.h"
#include "kernels/cpu/norm/statistics.h"

namespace orrery::kernels {
namespace {

// Bytes of the longest row for which two of each of x, dy and dx, and the shared rows, stay in the first
// cache.
template <Norm norm>
constexpr std::int64_t kShortRow = norm == Norm::layer_norm ? 4096 : 8192;

struct WideWeight;
struct WeightSums;
struct BiasSums;

template <typename T>
struct Segment {
  const T *dy, *x;
  T* dx;
  std::int64_t next_dy, next_x;  // elements to the segment below, 0 where it is not to be fetched early
};

// What all segments of a call share; rows stand as the lanes of pairs.
template <typename T>
struct Shared {
  const Wide<T>* w;
  std::int64_t count;
  Wide<T>*dw, *dbias;  // sums over rows so far
  bool adds;           // to dx
};

// n = x * inverse + shift, dx = dy w inverse - (n slope + level).
template <typename W>
struct Coefficients {
  W inverse, shift, slope, level;
};

// From sums of d = x - mean and g = dy w over the segment.
template <Norm norm, typename T>
ORRERY_ALWAYS_INLINE Coefficients<Wide<T>> find_coefficients(const Segment<T> s, const Shared<T> shared) {
  using W = Wide<T>;
  const W mean = row_mean<norm>(s.x, shared.count, s.next_dy == 0 ? s.dy : nullptr);
  RunningSum<T, 2> dd, g, gd;
  const auto pair = [&](std::int64_t i, int) {
    __builtin_prefetch(s.dx + i, 1);
    Lanes<T> dy[2], x[2], w[2];
    load_pair(s.dy + i, dy);
    load_pair(s.x + i, x);
    load_pair(shared.w + i, w);
    for (int h = 0; h < 2; ++h) {
      const Lanes<T> deviation = x[h] - mean, scaled = dy[h] * w[h];
      dd.parts[h] += deviation * deviation;
      g.parts[h] += scaled;
      gd.parts[h] += scaled * deviation;
    }
  };
  walk_row<T, 2>(shared.count, pair, [&](std::int64_t i) {
    const W deviation = widen(s.x[i]) - mean, scaled = widen(s.dy[i]) * shared.w[i];
    dd.rest += deviation * deviation;
    g.rest += scaled;
    gd.rest += scaled * deviation;
  });
  const W per_element = W{1} / static_cast<W>(shared.count),
          inverse = inverse_deviation(dd.total() * per_element);
  const W level = norm == Norm::layer_norm ? g.total() * per_element * inverse : 0;
  return {inverse, -mean * inverse, gd.total() * per_element * inverse * inverse, level};
}

template <Norm norm, bool biased, typename T>
void backward_segment(const Segment<T> s, const Shared<T> shared) {
  const Coefficients<Wide<T>> c = find_coefficients<norm>(s, shared);
  const auto pair = [&](std::int64_t i, int) {
    __builtin_prefetch(s.x + i + s.next_x);
    __builtin_prefetch(s.dy + i + s.next_dy);
    Lanes<T> dy[2], x[2], w[2], dx[2], dw[2], dbias[2], old[2];
    load_pair(s.dy + i, dy);
    load_pair(s.x + i, x);
    load_pair(shared.w + i, w);
    load_pair(shared.dw + i, dw);
    if constexpr (biased) load_pair(shared.dbias + i, dbias);
    for (int h = 0; h < 2; ++h) {
      const Lanes<T> n = x[h] * c.inverse + c.shift;
      dx[h] = dy[h] * w[h] * c.inverse - (n * c.slope + c.level);
      dw[h] += dy[h] * n;
      if constexpr (biased) dbias[h] += dy[h];
    }
    store_pair(shared.dw + i, dw);
    if constexpr (biased) store_pair(shared.dbias + i, dbias);
    if (shared.adds) {
      load_pair(s.dx + i, old);
      for (int h = 0; h < 2; ++h) dx[h] += old[h];
    }
    store_pair(s.dx + i, dx);
  };
  walk_row<T, 2>(shared.count, pair, [&](std::int64_t i) {
    const Wide<T> dy = widen(s.dy[i]), n = widen(s.x[i]) * c.inverse + c.shift;
    const Wide<T> dx = dy * shared.w[i] * c.inverse - (n * c.slope + c.level);
    shared.dw[i] += dy * n;
    if constexpr (biased) shared.dbias[i] += dy;
    s.dx[i] = narrow<T>(shared.adds ? dx + widen(s.dx[i]) : dx);
  });
}

template <Norm norm, bool biased, typename T>
void backward(const In<T>& dy, const In<T>& x, const Out<T>& dx, const Shared<T>& shared) {
  const bool dy_early = shared.count * std::int64_t{sizeof(T)} <= kShortRow<norm>;
  for (std::int64_t r = 0; r < x.rows; ++r) {
    const bool last = r + 1 == x.rows;
    for (std::int64_t c = 0; c < x.columns; c += shared.count)
      backward_segment<norm, biased>(Segment<T>{dy.row(r) + c, x.row(r) + c, dx.view.row(r) + c,
                                                last || !dy_early ? 0 : dy.stride, last ? 0 : x.stride},
                                     shared);
  }
}

// Sums over rows begin at 0.
template <typename Tag, typename W>
W* zeros(std::int64_t count) {
  W* sums = scratch<Tag, W>(count);
  std::fill(sums, sums + count, W{0});
  return sums;
}

template <typename T, typename G>
void put_sums(const Wide<T>* sums, std::int64_t count, const Out<G>& to) {
  const std::int64_t paired = count - count % (2 * lane_count<T>);
  for (std::int64_t i = 0; i < count; ++i) {
    const Wide<T> value = sums[i < paired ? pair_place<T>(i) : i];
    to.view.data[i] = narrow<G>(to.adds ? widen(to.view.data[i]) + value : value);
  }
}

}  // namespace

template <typename T, typename G>
void norm_backward(Norm norm, In<T> dy, In<T> x, In<T> w, const NormGradients<T, G>& gradients) {
  using W = Wide<T>;
  const std::int64_t n = x.columns;
  const bool biased = gradients.dbias.exists();
  const Out<T>& dx = gradients.dx;
  const Shared<T> shared{wide_row<WideWeight>(w.data, n), n, zeros<WeightSums, W>(n),
                         biased ? zeros<BiasSums, W>(n) : nullptr, dx.adds};
  if (norm == Norm::layer_norm)
    biased ? backward<Norm::layer_norm, true>(dy, x, dx, shared)
           : backward<Norm::layer_norm, false>(dy, x, dx, shared);
  else
    biased ? backward<Norm::rms_norm, true>(dy, x, dx, shared)
           : backward<Norm::rms_norm, false>(dy, x, dx, shared);
  put_sums<T>(shared.dw, n, gradients.dw);
  if (biased) put_sums<T>(shared.dbias, n, gradients.dbias);
}

template <typename T, typename G>
void head_norm_backward(In<T> dy, In<T> x, In<T> w, Out<T> dx, Out<G> dw) {
  const std::int64_t n = w.columns;
  const Shared<T> shared{wide_row<WideWeight>(w.data, n), n, zeros<WeightSums, Wide<T>>(n), nullptr, dx.adds};
  backward<Norm::rms_norm, false>(dy, x, dx, shared);
  put_sums<T>(shared.dw, n, dw);
}

#define ORRERY_INSTANTIATE(T, G)                                                            \
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
