// Eight elements at a time go into two vectors of doubles.
#include "kernels/cpu/optimizer/gradient_norm.h"

#include <cassert>
#include <cmath>

#include "kernels/lane_loop.h"

namespace orrery::kernels {
namespace {

struct DoublePair {
  DoubleLanes low, high;
};
ORRERY_ALWAYS_INLINE DoublePair in_double(FloatLanes v) {
  using Four = float __attribute__((vector_size(16)));
  Four half[2];
  std::memcpy(half, &v, sizeof v);
  return {__builtin_convertvector(half[0], DoubleLanes), __builtin_convertvector(half[1], DoubleLanes)};
}
ORRERY_ALWAYS_INLINE DoublePair in_double(DoubleLanes v) { return {v, DoubleLanes{}}; }

template <typename G>
double sum_of_squares(const G* x, std::int64_t begin, std::int64_t end) {
  if (end <= begin) return 0.0;
  DoubleLanes low{}, high{};
  for_lanes<G>(end - begin, [&](std::int64_t i, auto extent) {
    const DoublePair v = in_double(load(x + begin + i, extent));
    low += v.low * v.low;
    high += v.high * v.high;
  });
  return sum(low + high);
}

}  // namespace

template <typename G>
double squared_norm(In<G> x, const FlatRange& range, bool counts_replicated) {
  assert(x.contiguous());
  const std::int64_t count = x.count();
  if (counts_replicated) return sum_of_squares(x.data, 0, count);
  const auto place = [&](std::int64_t position) {
    return std::clamp<std::int64_t>(position - range.first, 0, count);
  };
  const std::int64_t padding = std::max(range.used, range.replicated_from);
  return sum_of_squares(x.data, place(range.replicated_until), place(range.replicated_from)) +
         sum_of_squares(x.data, std::max(place(range.replicated_until), place(padding)), count);
}

double gradient_factor(double clip, double squared, double loss_scale) {
  if (clip <= 0.0) return 1.0 / loss_scale;
  const double norm = std::sqrt(squared) / loss_scale;
  return std::min(1.0, clip / (norm + 1e-6)) / loss_scale;
}

template double squared_norm(In<double>, const FlatRange&, bool);
template double squared_norm(In<float>, const FlatRange&, bool);
template double squared_norm(In<bf16>, const FlatRange&, bool);
template double squared_norm(In<fp16>, const FlatRange&, bool);

}  // namespace orrery::kernels
