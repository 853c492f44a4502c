// What the measurements say about the machine: the robust line of every kernel and curve
// (hardware/rate_fit.h: the same fit that a prediction rests on), how far the measurements are from it, which
// of them it does not explain, and curves that no line fits. Those are named and kept as they are.
#pragma once

#include <string>
#include <vector>

#include "hardware/kernel_table.h"
#include "hardware/rate_fit.h"
#include "hardware/transfer_curve.h"

namespace orrery::runtime {

// Of a kernel: fixed time, FLOP/s, bytes/s; and its sizes' |measured / line - 1|.
struct KernelFinding {
  std::string name;
  std::size_t sizes = 0;
  hardware::RateFit line{};
  double typical_off = 0.0, worst_off = 0.0;  // median and largest
  std::string worst_size{};                   // "512 x 384 x 128"
  std::vector<std::string> outliers{};        // sizes further off than 6 robust deviations and 25 %
};
std::vector<KernelFinding> kernel_findings(const std::vector<hardware::MeasuredKernel>& kernels);

struct CurveFinding {
  std::string name;  // "all_reduce among 2"
  hardware::CurveShape shape;
  double typical_off = 0.0;
  std::string bend;  // hardware::bend_of
};
std::vector<CurveFinding> curve_findings(const std::vector<hardware::TransferCurve>& curves);

// For people, a line each.
std::string kernel_lines(const std::vector<KernelFinding>& findings);
std::string curve_lines(const std::vector<CurveFinding>& findings);
// For the provenance of the tables: outliers and bends only.
std::vector<std::string> notes_of(const std::vector<KernelFinding>& findings);
std::vector<std::string> notes_of(const std::vector<CurveFinding>& findings);

}  // namespace orrery::runtime
