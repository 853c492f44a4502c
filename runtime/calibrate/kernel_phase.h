// Which steps are performed, how often: passes over all workloads, so that a drift of the machine touches all
// kernels alike, until every workload's kernels are known well enough or the budget is used. In the first
// pass everything is visited once, in order of worth; later passes leave out what is settled. What a visit
// measured is in the journal before the next begins.
//
// A workload is settled after two visits, when the uncertainties of its kernels' medians (samples.h),
// weighted by their part of a step, come to less than 1 %.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/calibrate/journal.h"
#include "runtime/calibrate/kernel_catalog.h"
#include "runtime/calibrate/progress.h"
#include "runtime/calibrate/step_measurer.h"

namespace orrery::runtime {

struct PhaseLimits {
  double budget_s = 300.0;
  VisitLength visit;
  std::int64_t most_passes = 6;
  double settled = 0.01;
};

// Seconds of some steady clock; tests have their own.
using SecondsNow = std::function<double()>;
double steady_seconds();

class KernelPhase {
 public:
  // What the journal holds of earlier calls is taken over.
  KernelPhase(const std::vector<Workload>& workloads, Journal& journal);

  // Ends early where `stop` is set; everything visited until then is kept.
  void run(StepMeasurer& measurer, const PhaseLimits& limits, const SecondsNow& clock,
           const std::atomic<bool>& stop, Progress& progress);

  const KernelCatalog& kernels() const { return catalog_; }
  std::size_t visited() const;  // workloads, at least once
  std::int64_t visits() const;  // of all of them together
  double uncertainty(std::size_t workload) const;
  bool is_measured(std::size_t workload) const;  // every kernel of its step, there or in another
  double lost_core_share() const;  // of all timings, how many a loss of the core cut into

 private:
  void take_over(const std::vector<std::string>& block);
  void visit(std::size_t workload, StepMeasurer& measurer, const VisitLength& length,
             const std::atomic<bool>& stop);
  bool settled(std::size_t workload, double limit) const;

  struct Standing {
    std::vector<std::vector<std::uint32_t>> kernel_of_op;  // by program
    std::vector<std::uint32_t> calls;                      // how often each kernel is in a step, by kernel
    std::int64_t visits = 0;
  };
  const std::vector<Workload>& workloads_;
  Journal& journal_;
  KernelCatalog catalog_;
  std::vector<Standing> standing_;
  double timings_ = 0.0, lost_core_ = 0.0;
};

}  // namespace orrery::runtime
