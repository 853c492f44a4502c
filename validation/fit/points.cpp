#include "validation/fit/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>

#include "base/diagnostics.h"
#include "sim/cost/attention_model.h"
#include "sim/cost/gemm_model.h"
#include "sim/cost/memory_model.h"

namespace orrery::validation {
namespace {

using hardware::KernelClass;

constexpr std::size_t kColumns = 10;
constexpr double kElement = 2.0;  // bf16, fp16

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) cells.push_back(cell);
  return cells;
}

std::optional<KernelClass> class_named(const std::string& text) {
  for (std::size_t c = 0; c < hardware::kKernelClasses; ++c)
    if (name(static_cast<KernelClass>(c)) == text) return static_cast<KernelClass>(c);
  return std::nullopt;
}

Point parse_point(const std::vector<std::string>& cells, const std::string& where) {
  const auto number = [&](const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(value) || value < 0.0)
      throw InputError(fmt::format("{}: '{}' is not a number\n", where, text));
    return value;
  };
  const std::optional<KernelClass> of = class_named(cells[0]);
  if (!of) throw InputError(fmt::format("{}: '{}' is not a kernel class\n", where, cells[0]));
  Point point;
  point.kernel_class = *of;
  point.source = cells[2];
  for (std::size_t i = 0; i < point.d.size(); ++i) point.d[i] = number(cells[3 + i]);
  point.seconds = number(cells[9]) * 1e-6;
  if (point.seconds <= 0.0) throw InputError(where + ": a time of zero\n");
  return point;
}

double gemm_prediction(const Point& p, const sim::KernelDevice& device, const hardware::KernelFit& fit) {
  const double m = p.d[0], n = p.d[1], k = p.d[2];
  const double result = p.d[3] > 0.0 ? 8.0 : kElement;  // fp32, read and written
  sim::GemmCall call;
  call.m = m;
  call.n = n;
  call.k = k;
  call.bytes = kElement * (m * k + k * n) + result * m * n;
  return gemm_seconds(call, device, fit, p.d[4] > 0.0 ? sim::Clock::sustained : sim::Clock::alone);
}

double attention_prediction(const Point& p, const sim::KernelDevice& device, const hardware::KernelFit& fit) {
  sim::AttentionCall call;
  call.batch = p.d[0];
  call.sequence = p.d[1];
  call.heads = p.d[2];
  call.head_dim = p.d[4];
  call.causal = p.d[5] > 0.0;
  call.backward = p.kernel_class == KernelClass::attention_backward;
  const double row = kElement * call.batch * call.sequence * call.head_dim;
  const double kv_heads = p.d[3];
  // Forward: q, o; k, v. Backward: q, o, do, dq; k, v, dk, dv.
  call.bytes = row * (2.0 * call.heads + 2.0 * kv_heads) * (call.backward ? 2.0 : 1.0);
  return attention_seconds(call, device, fit);
}

}  // namespace

PointSets read_points(const std::string& path) {
  const auto source = read_source(path);
  std::istringstream stream(source->text);
  PointSets sets;
  std::string line;
  std::getline(stream, line);  // the heading
  for (std::size_t number = 2; std::getline(stream, line); ++number) {
    const std::vector<std::string> cells = split(line);
    const std::string where = fmt::format("{}:{}", path, number);
    if (cells.size() != kColumns)
      throw InputError(fmt::format("{}: {} columns, expected {}\n", where, cells.size(), kColumns));
    sets[cells[0] + "/" + cells[1]].push_back(parse_point(cells, where));
  }
  return sets;
}

double predicted_seconds(const Point& point, const sim::KernelDevice& device, const hardware::KernelFit& fit) {
  switch (point.kernel_class) {
    case KernelClass::gemm: return gemm_prediction(point, device, fit);
    case KernelClass::attention_forward:
    case KernelClass::attention_backward: return attention_prediction(point, device, fit);
    case KernelClass::memory_bound: break;
  }
  sim::KernelDevice measured_on = device;
  measured_on.hbm = point.d[2];
  return memory_seconds({point.d[0], point.d[1] > 0.0, 1.0}, measured_on, fit);
}

std::vector<double> log_residuals(const std::vector<Point>& points, const sim::KernelDevice& device,
                                  const hardware::KernelFit& fit) {
  std::vector<double> residuals;
  residuals.reserve(points.size());
  for (const Point& p : points) residuals.push_back(std::log(p.seconds / predicted_seconds(p, device, fit)));
  return residuals;
}

Errors errors(std::vector<double> residuals) {
  Errors e;
  e.points = residuals.size();
  if (residuals.empty()) return e;
  const auto percentile = [](std::vector<double>& values, double share) {
    const auto at = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1) + 0.5);
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
  };
  std::vector<double> relative;
  for (const double r : residuals) relative.push_back(std::abs(std::expm1(-r)));
  e.median = percentile(relative, 0.5);
  e.p90 = percentile(relative, 0.9);
  e.bias = percentile(residuals, 0.5);
  e.low = percentile(residuals, 0.1);
  e.high = percentile(residuals, 0.9);
  return e;
}

}  // namespace orrery::validation
