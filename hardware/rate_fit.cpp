// Iteratively reweighted least squares (normal equations, by Eigen's LDLT) for each of the seven subsets of
// terms; subsets with a negative term are left out (with so few terms that finds the best non-negative fit: it
// is the plain fit of the terms that it uses).
#include "hardware/rate_fit.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/check.h"

namespace orrery::hardware {
namespace {

constexpr int kTerms = 3;  // fixed, FLOPs, bytes
using Terms = Eigen::Vector3d;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, kTerms>;
using Subset = std::vector<int>;

constexpr int kIterations = 20;
constexpr double kHuber = 1.345, kMadToSigma = 1.4826;
constexpr double kLeastSigma = 0.005;  // relative: no clock is better
constexpr double kLeastLoss =
    1e-4;  // mean square of a relative error of 1 %: below that all fits are equally good
constexpr double kLeastPivot = 1e-10;  // of its term's own square: below that the terms are not told apart

// Where two are equally good, the earlier one is taken.
const std::vector<Subset>& subsets() {
  static const std::vector<Subset> all = {{1}, {2}, {1, 2}, {0, 1}, {0, 2}, {0, 1, 2}, {0}};
  return all;
}

// The subset's terms, the others 0; none where the equations are singular or a term is negative.
std::optional<Terms> solve(const Eigen::Matrix3d& normal, const Terms& right, const Subset& subset) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::ColMajor, kTerms, kTerms>;
  using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, kTerms, 1>;
  const Matrix matrix = normal(subset, subset);
  const Eigen::LDLT<Matrix> factors(matrix);
  const Vector squares = factors.transpositionsP() * Vector(matrix.diagonal());
  if ((factors.vectorD().array() <= kLeastPivot * squares.array()).any()) return std::nullopt;
  const Vector chosen = factors.solve(Vector(right(subset)));
  if ((chosen.array() < 0.0).any()) return std::nullopt;
  Terms terms = Terms::Zero();
  terms(subset) = chosen;
  return terms;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Fitter {
 public:
  explicit Fitter(std::span<const TimedWork> measured) : rows_(measured.size(), kTerms) {
    for (Eigen::Index i = 0; i < rows_.rows(); ++i) {
      const TimedWork& m = measured[static_cast<std::size_t>(i)];
      CHECK(m.seconds > 0.0 && m.flops >= 0.0 && m.bytes >= 0.0, m.seconds, m.flops, m.bytes);
      rows_.row(i) << 1.0 / m.seconds, m.flops / m.seconds, m.bytes / m.seconds;
    }
    scale_ = rows_.colwise().maxCoeff().transpose();
    scale_ = (scale_.array() > 0.0).select(scale_, 1.0);
    rows_.array().rowwise() /= scale_.transpose().array();
  }

  RateFit best() {
    double least = std::numeric_limits<double>::infinity();
    Terms chosen = Terms::Zero();
    for (const Subset& subset : subsets()) {
      const std::optional<Terms> terms = fit(subset);
      if (!terms) continue;
      const double score = static_cast<double>(rows_.rows()) * std::log(mean_loss(*terms) + kLeastLoss) +
                           2.0 * static_cast<double>(subset.size());
      if (score >= least - 1e-9) continue;
      least = score;
      chosen = *terms;
    }
    chosen.array() /= scale_.array();
    return {chosen[0], chosen[1], chosen[2]};
  }

 private:
  Eigen::ArrayXd residuals(const Terms& terms) const { return (rows_ * terms).array() - 1.0; }

  std::optional<Terms> fit(const Subset& subset) {
    weights_ = Eigen::VectorXd::Ones(rows_.rows());
    std::optional<Terms> terms;
    for (int i = 0; i < kIterations; ++i) {
      const Rows weighted = weights_.asDiagonal() * rows_;
      terms = solve(weighted.transpose() * rows_, weighted.colwise().sum().transpose(), subset);
      if (!terms) return std::nullopt;
      reweigh(*terms);
    }
    if (((rows_ * *terms).array() <= 0.0).any()) return std::nullopt;  // no time at all for something
    return terms;
  }

  void reweigh(const Terms& terms) {
    const Eigen::ArrayXd off = residuals(terms).abs();
    absolute_.assign(off.begin(), off.end());
    limit_ = kHuber * std::max(kLeastSigma, kMadToSigma * median(absolute_));
    weights_ = (off <= limit_).select(1.0, limit_ / off);
  }

  double mean_loss(const Terms& terms) const {
    const Eigen::ArrayXd off = residuals(terms).abs();
    return (off <= limit_).select(off.square(), limit_ * (2.0 * off - limit_)).mean();
  }

  Rows rows_;  // each divided by its time: the fit's left side; the right side is 1
  Terms scale_;
  Eigen::VectorXd weights_;
  std::vector<double> absolute_;
  double limit_ = 0.0;
};

}  // namespace

RateFit fit_rates(std::span<const TimedWork> measured) {
  CHECK(!measured.empty());
  return Fitter(measured).best();
}

}  // namespace orrery::hardware
