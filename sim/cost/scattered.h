// A quantity known at scattered points of a few dimensions, each with some noise: interpolated by simple
// kriging (Matheron 1963; Rasmussen and Williams 2006, chapter 2). Its deviation from a prior value is taken
// as a random field whose correlation falls with distance (Matern 5/2, a length l); each point has noise of n
// times the field's variance:
//
//     estimate = prior + c^T (C + n N)^-1 (values - prior)
//
// C: correlations of the 16 nearest points, c: theirs with the place, N: diagonal, 1, or 10^4 where a point
// is an outlier. Estimates stay within the values of those points and the prior. l and n are those of a small
// grid with which leaving out a point and estimating it misses least; misses beyond 5 % count as their
// logarithm, so outliers do not decide. Then a point that the others miss by more than 2.5 robust deviations
// is an outlier, and l and n are chosen again. So clean points are met and followed smoothly, noisy ones
// averaged, odd ones ignored; far from all points the prior remains. Cost: about 5 us an estimate; learning
// takes a few milliseconds for 50 points and more.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace orrery::sim {

inline constexpr std::size_t kMaxScatteredDims = 5;
using ScatteredPlace = std::array<double, kMaxScatteredDims>;  // dims that are not used: 0 everywhere

struct ScatteredPoint {
  ScatteredPlace at{};
  double value = 0.0;
};

class ScatteredField {
 public:
  // Without points the prior is all there is.
  ScatteredField(std::vector<ScatteredPoint> points, double prior);

  double at(const ScatteredPlace& place) const;
  // value - estimate without it, of at most 48 points; empty with fewer than two.
  const std::vector<double>& missed() const { return missed_; }

 private:
  struct Neighbours;
  struct Smoothness {
    double length = 2.0, noise = 1e-3;
  };
  Neighbours nearest(const ScatteredPlace& place, std::size_t left_out) const;
  double estimate(const Neighbours& near, const Smoothness& smoothness) const;
  std::vector<double> leave_one_out(std::size_t step, const Smoothness& smoothness) const;
  void choose_smoothness();
  void find_outliers();

  std::vector<ScatteredPoint> points_;
  std::vector<double> noise_;  // [point], times Smoothness::noise
  double prior_ = 0.0;
  Smoothness smoothness_;
  std::vector<double> missed_;
};

}  // namespace orrery::sim
