#include "runtime/calibrate/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/quantile.h"
#include "base/quantities.h"
#include "base/units.h"

namespace orrery::runtime {
namespace {

constexpr double kOutlierDeviations = 6.0, kMadToDeviation = 1.4826, kOutlierLeast = 0.25;
constexpr std::size_t kEnoughForOutliers = 6;

std::string size_words(const hardware::MeasuredKernel& kernel, const hardware::KernelPoint& p) {
  const auto end = p.dims.begin() + static_cast<std::ptrdiff_t>(kernel.dims.size());
  return fmt::format("{}", fmt::join(p.dims.begin(), end, " x "));
}

KernelFinding finding_of(const hardware::MeasuredKernel& kernel) {
  KernelFinding f{.name = kernel.name, .sizes = kernel.points.size()};
  std::vector<hardware::TimedWork> work;
  for (const hardware::KernelPoint& p : kernel.points) work.push_back({p.flops, p.bytes, p.seconds});
  f.line = hardware::fit_rates(work);
  std::vector<double> off;
  for (const hardware::KernelPoint& p : kernel.points) {
    const double away = std::abs(p.seconds / f.line.seconds(p.flops, p.bytes) - 1.0);
    if (away >= f.worst_off) f.worst_off = away, f.worst_size = size_words(kernel, p);
    off.push_back(away);
  }
  f.typical_off = median(std::move(off));
  const double limit = std::max(kOutlierLeast, kOutlierDeviations * kMadToDeviation * f.typical_off);
  for (const hardware::KernelPoint& p : kernel.points)
    if (kernel.points.size() >= kEnoughForOutliers &&
        std::abs(p.seconds / f.line.seconds(p.flops, p.bytes) - 1.0) > limit)
      f.outliers.push_back(size_words(kernel, p));
  return f;
}

CurveFinding finding_of(const hardware::TransferCurve& curve) {
  CurveFinding f;
  f.name = fmt::format("{} among {}", hardware::name(curve.operation), curve.ranks);
  f.shape = hardware::shape_of(curve);
  f.bend = hardware::bend_of(curve);
  std::vector<double> off;
  for (const hardware::TransferPoint& p : curve.points)
    off.push_back(std::abs(p.seconds / f.shape.line.seconds(0.0, static_cast<double>(p.bytes)) - 1.0));
  f.typical_off = median(std::move(off));
  return f;
}

std::string rate_words(double seconds_per_unit, const char* unit) {
  return seconds_per_unit > 0.0 ? fmt::format("{:8.1f} {}", 1e-9 / seconds_per_unit, unit)
                                : fmt::format("{:>8} {}", "-", unit);
}

}  // namespace

std::vector<KernelFinding> kernel_findings(const std::vector<hardware::MeasuredKernel>& kernels) {
  std::vector<KernelFinding> findings;
  for (const hardware::MeasuredKernel& kernel : kernels) findings.push_back(finding_of(kernel));
  return findings;
}

std::vector<CurveFinding> curve_findings(const std::vector<hardware::TransferCurve>& curves) {
  std::vector<CurveFinding> findings;
  for (const hardware::TransferCurve& curve : curves) findings.push_back(finding_of(curve));
  return findings;
}

std::string kernel_lines(const std::vector<KernelFinding>& findings) {
  std::string text;
  for (const KernelFinding& f : findings)
    text += fmt::format("  {:<50} {:>4} size{}  {:8.2f} us + {}, {}   off {:4.1f} %, {:.0f} % at {}\n",
                        f.name, f.sizes, f.sizes == 1 ? " " : "s", 1e6 * f.line.fixed_s,
                        rate_words(f.line.s_per_flop, "GFLOP/s"), rate_words(f.line.s_per_byte, "GB/s"),
                        100.0 * f.typical_off, 100.0 * f.worst_off, f.worst_size);
  return text;
}

std::string curve_lines(const std::vector<CurveFinding>& findings) {
  std::string text;
  for (const CurveFinding& f : findings)
    text += fmt::format(
        "  {:<24} {:8.2f} us + {}   off {:4.1f} %, {:.0f} % at {}{}\n", f.name, 1e6 * f.shape.line.fixed_s,
        rate_words(f.shape.line.s_per_byte, "GB/s"), 100.0 * f.typical_off, 100.0 * std::expm1(f.shape.worst),
        human_bytes(Bytes(f.shape.worst_bytes)), f.bend.empty() ? "" : "; no line fits, the points are kept");
  return text;
}

std::vector<std::string> notes_of(const std::vector<KernelFinding>& findings) {
  std::vector<std::string> notes;
  for (const KernelFinding& f : findings)
    if (!f.outliers.empty())
      notes.push_back(fmt::format("{}: far from its line at {}", f.name, fmt::join(f.outliers, ", ")));
  return notes;
}

std::vector<std::string> notes_of(const std::vector<CurveFinding>& findings) {
  std::vector<std::string> notes;
  for (const CurveFinding& f : findings)
    if (!f.bend.empty()) notes.push_back(f.bend);
  return notes;
}

}  // namespace orrery::runtime
