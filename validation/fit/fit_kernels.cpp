// Fits the constants of the kernel models, once per GPU type and kernel class, and writes hardware/profiles/*.json:
//
//   python3 validation/fit/extract_points.py DATA/kernels > points.csv
//   fit_kernels points.csv            (in the source root)
//
// The loss is the mean of |ln(measured / predicted)| over four fifths of the points; every fifth point is held out, and
// errors and intervals come from those. The search is a pattern search in the logarithm of the constants: a few
// constants, no gradient, the same result on every machine. It predicts with the simulator's own model code. The table
// of achieved errors goes to stdout (docs/models/kernels.md shows it). A minute on one core.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "base/check.h"
#include "hardware/cluster_reader.h"
#include "hardware/kernel_fit_reader.h"
#include "validation/fit/points.h"

namespace orrery::validation {
namespace {

using hardware::KernelClass;
using hardware::KernelFit;

struct Constant {
  const char* name;
  double KernelFit::*member;
  double min, max;  // what is physically sensible
};
constexpr Constant kPeak{"peak_fraction", &KernelFit::peak_fraction, 0.1, 1.0};
constexpr Constant kHalfK{"half_k", &KernelFit::half_k, 1.0, 1e4};
constexpr Constant kLaunch{"launch_us", &KernelFit::launch_us, 1.0, 100.0};
constexpr Constant kHbm{"hbm_fraction", &KernelFit::hbm_fraction, 0.1, 0.95};
constexpr Constant kDroop{"droop", &KernelFit::droop, 0.01, 1.0};
constexpr Constant kHalfSequence{"half_sequence", &KernelFit::half_sequence, 1.0, 1e4};
constexpr Constant kReduction{"reduction_fraction", &KernelFit::reduction_fraction, 0.1, 1.0};
constexpr Constant kL2{"l2_speedup", &KernelFit::l2_speedup, 1.0, 4.0};

const std::vector<Constant>& constants_of(KernelClass of) {
  static const std::vector<Constant> gemm = {kPeak, kHalfK, kLaunch, kHbm, kDroop};
  static const std::vector<Constant> attention = {kPeak, kHalfK, kLaunch, kHbm, kHalfSequence};
  static const std::vector<Constant> memory = {kPeak, kReduction, kLaunch, kL2};
  if (of == KernelClass::gemm) return gemm;
  return of == KernelClass::memory_bound ? memory : attention;
}

// What is fitted: `free` constants on the points of `profile`, the others as in the fit of `like` ("class/profile").
// Few points free few constants; none free is a transfer.
struct Task {
  KernelClass of;
  const char* profile;
  const char* gpu_file;
  const char* like;
  std::vector<Constant> free;
};

std::vector<Task> tasks() {
  const auto gemm = KernelClass::gemm, forward = KernelClass::attention_forward,
             backward = KernelClass::attention_backward, memory = KernelClass::memory_bound;
  const char *a100 = "a100-sxm4-80gb", *pcie = "a100-pcie-80gb", *h100 = "h100-sxm5-80gb", *b200 = "b200-sxm",
             *l40s = "l40s", *v100 = "v100-sxm2";
  const char* v100_file = "v100-sxm2-16gb";
  const std::vector<Constant> all_gemm = constants_of(gemm), all_attention = constants_of(forward);
  return {
      {gemm, a100, a100, "", all_gemm},
      {gemm, h100, h100, "", all_gemm},
      {gemm, b200, b200, "", all_gemm},
      {gemm, l40s, l40s, "", all_gemm},
      {gemm, pcie, pcie, "gemm/a100-sxm4-80gb", {kPeak, kHalfK, kHbm}},
      {gemm, v100, v100_file, "gemm/a100-sxm4-80gb", {kPeak, kHalfK, kHbm}},
      {forward, a100, a100, "", all_attention},
      {forward, h100, h100, "", all_attention},
      {forward, b200, b200, "", all_attention},
      {forward, l40s, l40s, "", all_attention},
      {forward, pcie, pcie, "attention_forward/a100-sxm4-80gb", {kPeak}},
      {forward, v100, v100_file, "attention_forward/a100-sxm4-80gb", {}},
      {backward, a100, a100, "attention_forward/a100-sxm4-80gb", {kPeak, kHalfK, kHalfSequence}},
      {backward, h100, h100, "attention_backward/a100-sxm4-80gb", {kPeak, kHalfSequence}},
      {backward, b200, b200, "attention_forward/b200-sxm", {kPeak, kHalfSequence}},
      {backward, pcie, pcie, "attention_backward/a100-sxm4-80gb", {kPeak}},
      {backward, l40s, l40s, "attention_backward/a100-sxm4-80gb", {}},
      {backward, v100, v100_file, "attention_backward/a100-sxm4-80gb", {}},
      {memory, a100, a100, "", {kPeak, kReduction, kLaunch, kL2}},
      {memory, pcie, pcie, "", {kPeak, kReduction, kLaunch, kL2}},
      {memory, h100, h100, "memory_bound/a100-sxm4-80gb", {kPeak, kLaunch, kL2}},
      {memory, b200, b200, "memory_bound/h100-sxm5-80gb", {kPeak}},
      {memory, v100, v100_file, "memory_bound/a100-sxm4-80gb", {kPeak, kReduction}},
      {memory, l40s, l40s, "memory_bound/a100-sxm4-80gb", {}},
  };
}

KernelFit first_guess(KernelClass of) {
  KernelFit fit;
  fit.peak_fraction = 0.7;
  fit.launch_us = 3.0;
  if (of == KernelClass::memory_bound) {
    fit.reduction_fraction = 0.6;
    fit.l2_speedup = 1.5;
    return fit;
  }
  fit.half_k = of == KernelClass::gemm ? 100.0 : 20.0;
  fit.hbm_fraction = of == KernelClass::gemm ? 0.8 : 0.5;
  if (of == KernelClass::gemm) {
    fit.droop = 0.1;
  } else {
    fit.half_sequence = 100.0;
  }
  return fit;
}

// Mean absolute log residual; every source counts the same, however many points it has.
struct Sample {
  std::vector<Point> points;
  std::vector<double> weights;  // sum to 1
};

constexpr std::size_t kSearchPoints = 4000;  // a large table is thinned evenly: more points do not move the constants

Sample sample_of(const std::vector<Point>& points) {
  Sample sample;
  const std::size_t stride = points.size() / kSearchPoints + 1;
  std::map<std::string, double> of_source;
  for (std::size_t i = 0; i < points.size(); i += stride) {
    sample.points.push_back(points[i]);
    of_source[points[i].source] += 1.0;
  }
  const auto sources = static_cast<double>(of_source.size());
  for (const Point& p : sample.points) sample.weights.push_back(1.0 / (sources * of_source[p.source]));
  return sample;
}

double loss(const Sample& sample, const sim::KernelDevice& device, const KernelFit& fit) {
  const std::vector<double> residuals = log_residuals(sample.points, device, fit);
  double sum = 0.0;
  for (std::size_t i = 0; i < residuals.size(); ++i) sum += sample.weights[i] * std::abs(residuals[i]);
  return sum;
}

// One direction of the search: up to two constants, each multiplied or divided by the step.
struct Move {
  const Constant* first;
  const Constant* second;  // or null
  double first_power, second_power;
};

std::vector<Move> moves_of(const std::vector<Constant>& free) {
  std::vector<Move> moves;
  for (std::size_t i = 0; i < free.size(); ++i) {
    for (const double a : {1.0, -1.0}) moves.push_back({&free[i], nullptr, a, 0.0});
    for (std::size_t j = i + 1; j < free.size(); ++j)
      for (const double a : {1.0, -1.0})
        for (const double b : {1.0, -1.0}) moves.push_back({&free[i], &free[j], a, b});
  }
  return moves;
}

void scale(KernelFit& fit, const Constant& c, double factor) {
  fit.*c.member = std::clamp(fit.*c.member * factor, c.min, c.max);
}

// Pattern search: constants, and pairs of them (they trade off), up or down by a factor that shrinks when nothing
// helps. Done twice, the second time from where the first ended, with large steps again.
KernelFit search(const std::vector<Point>& points, const sim::KernelDevice& device, KernelFit fit,
                 const std::vector<Constant>& free) {
  constexpr double kFirstStep = 0.4, kLastStep = 0.01;
  const Sample sample = sample_of(points);
  const std::vector<Move> moves = moves_of(free);
  double best = loss(sample, device, fit);
  for (int round = 0; round < 2; ++round)
    for (double step = kFirstStep; step > kLastStep;) {
      bool improved = false;
      for (const Move& move : moves) {
        KernelFit trial = fit;
        scale(trial, *move.first, std::exp(step * move.first_power));
        if (move.second != nullptr) scale(trial, *move.second, std::exp(step * move.second_power));
        const double value = loss(sample, device, trial);
        if (value >= best - 1e-6) continue;
        best = value;
        fit = trial;
        improved = true;
      }
      if (!improved) step *= 0.5;
    }
  for (const Constant& c : free) fit.*c.member = std::stod(fmt::format("{:.4g}", fit.*c.member));
  return fit;
}

// Sources in order of appearance.
std::string source_names(const std::vector<Point>& points) {
  std::vector<std::string> names;
  for (const Point& p : points)
    if (std::find(names.begin(), names.end(), p.source) == names.end()) names.push_back(p.source);
  return fmt::format("{}", fmt::join(names, ", "));
}

constexpr std::size_t kHoldOut = 5;          // every fifth point
constexpr std::size_t kFewPoints = 50;       // below, all points are fitted and judged
constexpr std::size_t kNarrowPoints = 300;   // below, the interval is at least:
constexpr double kMinimumInterval = 0.15;    // in ln

void print_row(const std::string& what, const std::string& source, const Errors& e) {
  fmt::print("| {} | {} | {} | {:.1f} % | {:.1f} % | {:+.1f} % |\n", what, source, e.points, 100.0 * e.median,
             100.0 * e.p90, 100.0 * std::expm1(e.bias));
}

KernelFit perform(const Task& task, const PointSets& sets, const std::map<std::string, KernelFit>& done,
                  const sim::KernelDevice& device) {
  const std::string key = fmt::format("{}/{}", name(task.of), task.profile);
  KernelFit fit = *task.like ? done.at(task.like) : first_guess(task.of);
  if (task.free.empty()) {
    hardware::KernelFits one{};
    one[0] = fit;
    return hardware::transferred(one, task.like)[0];
  }
  // A backward kernel takes tiling and softmax from a forward, but that one's HBM share is its serving engine's.
  if (task.of == KernelClass::attention_backward) fit.hbm_fraction = first_guess(KernelClass::gemm).hbm_fraction;
  const std::vector<Point>& points = sets.at(key);
  std::vector<Point> fitted, judged;
  for (std::size_t i = 0; i < points.size(); ++i)
    (points.size() >= kFewPoints && i % kHoldOut == kHoldOut - 1 ? judged : fitted).push_back(points[i]);
  if (judged.empty()) judged = fitted;
  fit = search(fitted, device, fit, task.free);
  const Errors e = errors(log_residuals(judged, device, fit));
  const double at_least = points.size() < kNarrowPoints ? kMinimumInterval : 0.0;
  fit.residual_low = std::min({e.low, -at_least, 0.0});
  fit.residual_high = std::max({e.high, at_least, 0.0});
  fit.measurements = static_cast<std::int64_t>(points.size());
  fit.source = source_names(points);
  if (*task.like) fit.source += fmt::format("; constants not fitted here: {}", task.like);
  print_row(key, points.size() >= kFewPoints ? "held-out fifth" : "all (few)", e);
  std::map<std::string, std::vector<Point>> by_source;
  for (const Point& p : judged) by_source[p.source].push_back(p);
  if (by_source.size() > 1)
    for (const auto& [source, some] : by_source) print_row("", source, errors(log_residuals(some, device, fit)));
  return fit;
}

void print_checks(const std::map<std::string, KernelFit>& done, const PointSets& sets, const Task& task,
                  const sim::KernelDevice& device) {
  const auto found = sets.find(fmt::format("{}/check:{}", name(task.of), task.profile));
  if (found == sets.end()) return;
  std::map<std::string, std::vector<Point>> by_source;
  for (const Point& p : found->second) by_source[p.source].push_back(p);
  for (const auto& [source, some] : by_source)
    print_row(fmt::format("{}/{}", name(task.of), task.profile), source + ", never fitted",
              errors(log_residuals(some, device, done.at(fmt::format("{}/{}", name(task.of), task.profile)))));
}

// Subsets that show where the GEMM model is good and where not.
void print_gemm_subsets(const std::string& profile, const std::vector<Point>& points, const sim::KernelDevice& device,
                        const KernelFit& fit) {
  const auto row = [&](const char* what, auto keep) {
    std::vector<Point> some;
    for (const Point& p : points)
      if (keep(p)) some.push_back(p);
    if (!some.empty()) print_row(profile, what, errors(log_residuals(some, device, fit)));
  };
  row("m, n, k >= 1024", [](const Point& p) { return std::min({p.d[0], p.d[1], p.d[2]}) >= 1024; });
  row("k < 1024", [](const Point& p) { return p.d[2] < 1024; });
  row("m < 512", [](const Point& p) { return p.d[0] < 512; });
  row("n < 512", [](const Point& p) { return p.d[1] < 512; });
  row("under 20 us", [](const Point& p) { return p.seconds < 20e-6; });
  row("over 1 ms", [](const Point& p) { return p.seconds > 1e-3; });
}

void write_profile(const std::string& profile, const std::string& gpu_name,
                   const std::map<std::string, KernelFit>& done) {
  std::string text = fmt::format("{{\n  \"gpu\": \"{}\"", gpu_name);
  for (std::size_t c = 0; c < hardware::kKernelClasses; ++c) {
    const auto of = static_cast<KernelClass>(c);
    const KernelFit& fit = done.at(fmt::format("{}/{}", name(of), profile));
    text += fmt::format(",\n  \"{}\": {{\n", name(of));
    for (const Constant& constant : constants_of(of))
      text += fmt::format("    \"{}\": {:.4g},\n", constant.name, fit.*constant.member);
    text += fmt::format("    \"residual_low\": {:.3f},\n    \"residual_high\": {:.3f},\n    \"measurements\": {},\n"
                        "    \"source\": \"{}\"\n  }}",
                        fit.residual_low, fit.residual_high, fit.measurements, fit.source);
  }
  const std::string path = fmt::format("hardware/profiles/{}.json", profile);
  std::ofstream file(path);
  file << text << "\n}\n";
  if (!file.flush()) throw WorldError("cannot write " + path);
}

hardware::Gpu gpu_of(const char* gpu_file) {
  Diagnostics diagnostics;
  const Json json = read_json(fmt::format("hardware/gpus/{}.json", gpu_file));
  const hardware::Gpu gpu = hardware::read_data_sheet(json, diagnostics);
  diagnostics.throw_if_errors();
  return gpu;
}

sim::KernelDevice device_of(const char* gpu_file) {
  const hardware::Gpu gpu = gpu_of(gpu_file);
  return sim::kernel_device(gpu, gpu.peak(hardware::Precision::fp16));
}

void fit_all(const std::string& points_path) {
  const PointSets sets = read_points(points_path);
  const std::vector<Task> all = tasks();
  std::map<std::string, KernelFit> done;
  fmt::print("| fit | points | n | median error | p90 error | bias |\n|---|---|---:|---:|---:|---:|\n");
  for (const Task& task : all)
    done[fmt::format("{}/{}", name(task.of), task.profile)] = perform(task, sets, done, device_of(task.gpu_file));
  fmt::print("\n| profile | points | n | median error | p90 error | bias |\n|---|---|---:|---:|---:|---:|\n");
  for (const Task& task : all) {
    const std::string key = fmt::format("{}/{}", name(task.of), task.profile);
    const sim::KernelDevice device = device_of(task.gpu_file);
    if (task.of == KernelClass::gemm) print_gemm_subsets(task.profile, sets.at(key), device, done.at(key));
    print_checks(done, sets, task, device);
  }
  for (const Task& task : all)
    if (task.of == KernelClass::gemm) write_profile(task.profile, gpu_of(task.gpu_file).name, done);
}

}  // namespace
}  // namespace orrery::validation

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: fit_kernels points.csv   (from validation/fit/extract_points.py; in the source root)\n");
    return 2;
  }
  try {
    orrery::validation::fit_all(argv[1]);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 2;
  }
  return 0;
}
