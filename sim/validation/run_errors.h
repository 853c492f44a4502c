// How far predictions of published runs are off, run by run and by group.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sim/metrics/result.h"
#include "sim/validation/published_runs.h"

namespace orrery::sim {

// predicted / measured - 1, and whether the measurement lies in the stated 80 % interval.
struct QuantityError {
  double measured = 0.0, predicted = 0.0, low = 0.0, high = 0.0;
  double error() const { return predicted / measured - 1.0; }
  bool inside() const { return low <= measured && measured <= high; }
  bool known() const { return measured > 0.0; }
};

struct RunError {
  const PublishedRun* run = nullptr;
  QuantityError time;    // seconds
  QuantityError memory;  // bytes; unknown where nothing was measured
  Share largest = Share::compute;  // of the predicted step, besides compute
  double largest_share = 0.0;
  std::vector<std::pair<std::string, double>> parts;  // seconds of the predicted step, by UncertainPart
};
RunError run_error(const PublishedRun& run, const Result& result);

// What runs are put together by.
enum class GroupBy : std::uint8_t { source, gpu, framework, parallelism, size, all };
inline constexpr GroupBy kGroupings[] = {GroupBy::source, GroupBy::gpu, GroupBy::framework, GroupBy::parallelism, GroupBy::size};
std::string_view word(GroupBy by);
std::string group_of(const RunError& error, GroupBy by);

struct ErrorSummary {
  std::string group;
  std::size_t count = 0;
  double mean = 0.0, median = 0.0, p90 = 0.0, worst = 0.0;  // of |error|
  double bias = 0.0;                                         // median of the signed error
  double inside = 0.0;                                       // share of measurements in the interval
  double width = 0.0;                                        // median of high / low - 1
};
// Groups in the order of their names. `quantity`: &RunError::time or &RunError::memory; runs without it do not count.
std::vector<ErrorSummary> summaries(const std::vector<RunError>& errors, QuantityError RunError::*quantity, GroupBy by);

}  // namespace orrery::sim
