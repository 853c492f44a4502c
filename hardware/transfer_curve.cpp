#include "hardware/transfer_curve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/quantities.h"

namespace orrery::hardware {
namespace {

constexpr std::size_t kEndPoints = 4;  // points at an end that say how it goes on
constexpr double kLeastSpread = 0.03, kBeyondSpread = 0.3;
constexpr double kStraight = 0.7;        // ln 2
constexpr double kLostBandwidth =
    0.65;  // of the best: below that at the largest size, the curve has collapsed

double as_bytes(const TransferPoint& p) { return static_cast<double>(p.bytes); }

RateFit line_through(const TransferCurve& curve, std::size_t first, std::size_t count) {
  std::vector<TimedWork> work;
  for (std::size_t i = first; i < first + count; ++i)
    work.push_back({0.0, as_bytes(curve.points[i]), curve.points[i].seconds});
  return fit_rates(work);
}

double between(const TransferPoint& a, const TransferPoint& b, double bytes) {
  const double share = std::log(bytes / as_bytes(a)) / std::log(as_bytes(b) / as_bytes(a));
  return a.seconds * std::pow(b.seconds / a.seconds, share);
}

// Scaled to meet the end point; never less than what a line through the origin, or no slope at all, would
// say.
double beyond(const TransferCurve& curve, double bytes) {
  const std::size_t n = curve.points.size(), count = std::min(n, kEndPoints);
  const bool above = bytes > as_bytes(curve.points.back());
  const TransferPoint& end = above ? curve.points.back() : curve.points.front();
  if (n == 1) return above ? end.seconds * bytes / as_bytes(end) : end.seconds;
  const RateFit line = line_through(curve, above ? n - count : 0, count);
  if (above && line.s_per_byte <= 0.0) return end.seconds * bytes / as_bytes(end);
  if (!above && line.fixed_s <= 0.0) return end.seconds * std::max(0.5, bytes / as_bytes(end));
  return end.seconds * line.seconds(0.0, bytes) / line.seconds(0.0, as_bytes(end));
}

struct Spread {
  double low = -kLeastSpread, high = kLeastSpread;
};

// What interpolating each inner point from its neighbours misses: ln(measured / interpolated), 10th and 90th
// percentile.
Spread leave_one_out(const TransferCurve& curve) {
  std::vector<double> missed;
  for (std::size_t i = 1; i + 1 < curve.points.size(); ++i) {
    const TransferPoint& p = curve.points[i];
    missed.push_back(std::log(p.seconds / between(curve.points[i - 1], curve.points[i + 1], as_bytes(p))));
  }
  Spread spread;
  if (missed.empty()) return spread;
  std::sort(missed.begin(), missed.end());
  const auto last = static_cast<double>(missed.size() - 1);
  spread.low = std::min(spread.low, missed[static_cast<std::size_t>(std::floor(0.1 * last))]);
  spread.high = std::max(spread.high, missed[static_cast<std::size_t>(std::ceil(0.9 * last))]);
  return spread;
}

}  // namespace

CurveTime time_at(const TransferCurve& curve, double bytes) {
  CHECK(!curve.points.empty() && bytes >= 0.0, bytes);
  const auto above = std::lower_bound(curve.points.begin(), curve.points.end(), bytes,
                                      [](const TransferPoint& p, double size) { return as_bytes(p) < size; });
  if (above != curve.points.end() && as_bytes(*above) == bytes)
    return {above->seconds, CurvePart::point, std::log(above->p10 / above->seconds),
            std::log(above->p90 / above->seconds)};
  const Spread spread = leave_one_out(curve);
  if (above == curve.points.begin() || above == curve.points.end())
    return {beyond(curve, bytes), CurvePart::beyond, std::min(2.0 * spread.low, -kBeyondSpread),
            std::max(2.0 * spread.high, kBeyondSpread)};
  const TransferPoint &a = *std::prev(above), &b = *above;
  const double noise_low = std::min(std::log(a.p10 / a.seconds), std::log(b.p10 / b.seconds));
  const double noise_high = std::max(std::log(a.p90 / a.seconds), std::log(b.p90 / b.seconds));
  return {between(a, b, bytes), CurvePart::between, -std::hypot(spread.low, noise_low),
          std::hypot(spread.high, noise_high)};
}

CurveShape shape_of(const TransferCurve& curve) {
  CHECK(!curve.points.empty());
  CurveShape shape;
  shape.line = line_through(curve, 0, curve.points.size());
  for (const TransferPoint& p : curve.points) {
    const double off = std::abs(std::log(p.seconds / shape.line.seconds(0.0, as_bytes(p))));
    const double bandwidth = as_bytes(p) / p.seconds;
    if (off > shape.worst) shape.worst = off, shape.worst_bytes = p.bytes;
    if (bandwidth > shape.best_bandwidth) shape.best_bandwidth = bandwidth, shape.best_bytes = p.bytes;
    shape.last_bandwidth = bandwidth;
  }
  shape.straight = shape.worst <= kStraight && shape.last_bandwidth >= kLostBandwidth * shape.best_bandwidth;
  return shape;
}

std::string bend_of(const TransferCurve& curve) {
  const CurveShape shape = shape_of(curve);
  if (shape.straight) return {};
  const std::string who =
      fmt::format("{} among {} ranks ({}): ", name(curve.operation), curve.ranks, name(curve.placement));
  if (shape.last_bandwidth < kLostBandwidth * shape.best_bandwidth)
    return who + fmt::format("bandwidth falls from {} at {} to {} at {}",
                             human_bandwidth(Bandwidth(shape.best_bandwidth)),
                             human_bytes(Bytes(shape.best_bytes)),
                             human_bandwidth(Bandwidth(shape.last_bandwidth)),
                             human_bytes(Bytes(curve.points.back().bytes)));
  return who + fmt::format("no line fits, off by a factor of {:.2f} at {}", std::exp(shape.worst),
                           human_bytes(Bytes(shape.worst_bytes)));
}

}  // namespace orrery::hardware
