#include "runtime/calibrate/samples.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/quantile.h"

namespace orrery::runtime {
namespace {

constexpr double kFence = 6.0, kMadToDeviation = 1.4826, kLeastDeviation = 0.02;
constexpr std::size_t kEnough = 3;

}  // namespace

void Samples::add(double seconds, bool disturbed) {
  std::vector<float>& into = disturbed ? disturbed_ : kept_;
  if (into.size() < kMost) into.push_back(static_cast<float>(seconds));
}

SampleSummary Samples::summary() const {
  std::vector<float> values = kept_;
  if (values.size() < kEnough) values.insert(values.end(), disturbed_.begin(), disturbed_.end());
  CHECK(!values.empty());
  const double middle = median(values);
  std::vector<float> away;
  for (const float v : values) away.push_back(std::abs(v - static_cast<float>(middle)));
  const double deviation = std::max(kLeastDeviation * middle, kMadToDeviation * median(away));
  std::erase_if(values,
                [&](float v) { return std::abs(static_cast<double>(v) - middle) > kFence * deviation; });
  SampleSummary s;
  s.seconds = median(values);
  s.p10 = quantile(values, 0.1);
  s.p90 = quantile(values, 0.9);
  s.samples = static_cast<std::int64_t>(values.size());
  s.outliers = static_cast<std::int64_t>(count() - values.size());
  if (values.size() >= kEnough && s.seconds > 0.0) {
    const double spread = quantile(values, 0.75) - quantile(values, 0.25);
    s.uncertainty = 1.58 * spread / std::sqrt(static_cast<double>(values.size())) / s.seconds;
  }
  return s;
}

}  // namespace orrery::runtime
