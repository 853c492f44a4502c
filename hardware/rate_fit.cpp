// Iteratively reweighted least squares for each of the seven subsets of terms; subsets with a negative term
// are left out (with so few terms that finds the best non-negative fit: it is the plain fit of the terms that
// it uses).
#include "hardware/rate_fit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "base/check.h"

namespace orrery::hardware {
namespace {

constexpr std::size_t kTerms = 3;
using Row = std::array<double, kTerms>;

constexpr int kIterations = 20;
constexpr double kHuber = 1.345, kMadToSigma = 1.4826;
constexpr double kLeastSigma = 0.005;  // relative: no clock is better
constexpr double kLeastLoss =
    1e-4;  // mean square of a relative error of 1 %: below that all fits are equally good

// Subsets as bits: 1 fixed, 2 FLOPs, 4 bytes; where two are equally good, the earlier one is taken.
constexpr std::array<unsigned, 7> kSubsets = {2, 4, 6, 3, 5, 7, 1};

// Solves the normal equations of the subset by Cholesky; none where they are singular or a term is negative.
std::optional<Row> solve(const std::array<Row, kTerms>& matrix, const Row& right, unsigned subset) {
  std::array<std::size_t, kTerms> terms{};
  std::size_t n = 0;
  for (std::size_t t = 0; t < kTerms; ++t)
    if ((subset >> t & 1U) != 0) terms[n++] = t;
  std::array<Row, kTerms> l{};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[terms[i]][terms[j]];
      for (std::size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
      if (i == j) {
        if (sum <= 1e-10 * matrix[terms[i]][terms[i]] || sum <= 0.0) return std::nullopt;
        l[i][i] = std::sqrt(sum);
      } else {
        l[i][j] = sum / l[j][j];
      }
    }
  Row y{}, x{};
  for (std::size_t i = 0; i < n; ++i) {
    y[i] = right[terms[i]];
    for (std::size_t k = 0; k < i; ++k) y[i] -= l[i][k] * y[k];
    y[i] /= l[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) y[i] -= l[k][i] * y[k];
    y[i] /= l[i][i];
    if (y[i] < 0.0) return std::nullopt;
    x[terms[i]] = y[i];
  }
  return x;
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Fitter {
 public:
  explicit Fitter(std::span<const TimedWork> measured) {
    for (const TimedWork& m : measured) {
      CHECK(m.seconds > 0.0 && m.flops >= 0.0 && m.bytes >= 0.0, m.seconds, m.flops, m.bytes);
      const Row row = {1.0 / m.seconds, m.flops / m.seconds, m.bytes / m.seconds};
      rows_.push_back(row);
      for (std::size_t t = 0; t < kTerms; ++t) scale_[t] = std::max(scale_[t], row[t]);
    }
    for (Row& row : rows_)
      for (std::size_t t = 0; t < kTerms; ++t) row[t] = scale_[t] > 0.0 ? row[t] / scale_[t] : 0.0;
  }

  RateFit best() {
    double least = std::numeric_limits<double>::infinity();
    Row chosen{};
    for (const unsigned subset : kSubsets) {
      const std::optional<Row> terms = fit(subset);
      if (!terms) continue;
      const auto n = static_cast<double>(rows_.size());
      const double score = n * std::log(mean_loss(*terms) + kLeastLoss) + 2.0 * std::popcount(subset);
      if (score >= least - 1e-9) continue;
      least = score;
      chosen = *terms;
    }
    for (std::size_t t = 0; t < kTerms; ++t) chosen[t] = scale_[t] > 0.0 ? chosen[t] / scale_[t] : 0.0;
    return {chosen[0], chosen[1], chosen[2]};
  }

 private:
  static double share(const Row& row, const Row& terms) {  // of the measured time that the terms explain
    return row[0] * terms[0] + row[1] * terms[1] + row[2] * terms[2];
  }
  static double residual(const Row& row, const Row& terms) { return share(row, terms) - 1.0; }

  std::optional<Row> fit(unsigned subset) {
    weights_.assign(rows_.size(), 1.0);
    std::optional<Row> terms;
    for (int i = 0; i < kIterations; ++i) {
      std::array<Row, kTerms> matrix{};
      Row right{};
      for (std::size_t r = 0; r < rows_.size(); ++r)
        for (std::size_t a = 0; a < kTerms; ++a) {
          right[a] += weights_[r] * rows_[r][a];
          for (std::size_t b = 0; b < kTerms; ++b) matrix[a][b] += weights_[r] * rows_[r][a] * rows_[r][b];
        }
      terms = solve(matrix, right, subset);
      if (!terms) return std::nullopt;
      reweigh(*terms);
    }
    for (const Row& row : rows_)
      if (share(row, *terms) <= 0.0) return std::nullopt;  // no time at all for something
    return terms;
  }

  void reweigh(const Row& terms) {
    absolute_.clear();
    for (const Row& row : rows_) absolute_.push_back(std::abs(residual(row, terms)));
    const std::vector<double> residuals = absolute_;
    limit_ = kHuber * std::max(kLeastSigma, kMadToSigma * median(absolute_));
    for (std::size_t r = 0; r < rows_.size(); ++r)
      weights_[r] = residuals[r] <= limit_ ? 1.0 : limit_ / residuals[r];
  }

  double mean_loss(const Row& terms) const {
    double sum = 0.0;
    for (const Row& row : rows_) {
      const double r = std::abs(residual(row, terms));
      sum += r <= limit_ ? r * r : limit_ * (2.0 * r - limit_);
    }
    return sum / static_cast<double>(rows_.size());
  }

  std::vector<Row> rows_;  // each divided by its time: the fit's left side; the right side is 1
  Row scale_{};
  std::vector<double> weights_, absolute_;
  double limit_ = 0.0;
};

}  // namespace

RateFit fit_rates(std::span<const TimedWork> measured) {
  CHECK(!measured.empty());
  return Fitter(measured).best();
}

}  // namespace orrery::hardware
