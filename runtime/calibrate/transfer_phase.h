// Which messages are timed: each operation among each number of ranks over sizes of a factor of 4, in passes
// over all of them, until every point is known well enough or the budget is used. The journal gets each
// visit.
#pragma once

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "hardware/transfer_table.h"
#include "runtime/calibrate/journal.h"
#include "runtime/calibrate/kernel_phase.h"
#include "runtime/calibrate/progress.h"
#include "runtime/calibrate/samples.h"

namespace orrery::runtime {

// An operation among so many ranks.
using Exchange = std::pair<hardware::TransferOperation, std::int64_t>;

// One visit: seconds of each size, several of each, and what part of a core each rank kept busy meanwhile.
struct TransferVisit {
  std::vector<std::vector<double>> seconds;  // by size
  double cores = 0.0;
};

class TransferMeasurer {
 public:
  virtual ~TransferMeasurer() = default;
  virtual TransferVisit visit(const Exchange& exchange, const std::vector<std::int64_t>& bytes,
                              double seconds) = 0;
};

// By executors (probe_run.h).
class ProbeMeasurer final : public TransferMeasurer {
 public:
  TransferVisit visit(const Exchange& exchange, const std::vector<std::int64_t>& bytes,
                      double seconds) override;
};

struct TransferLimits {
  double budget_s = 120.0, visit_s = 1.0;
  std::int64_t most_passes = 5;
  double settled = 0.03;  // every point's median is known to this
};

class TransferPhase {
 public:
  TransferPhase(std::set<Exchange> exchanges, std::int64_t most_bytes, Journal& journal);

  void run(TransferMeasurer& measurer, const TransferLimits& limits, const SecondsNow& clock,
           const std::atomic<bool>& stop, Progress& progress);

  struct Curve {
    std::map<std::int64_t, Samples> points;  // by bytes
    double cores_sum = 0.0;
    std::int64_t visits = 0;
  };
  const std::map<Exchange, Curve>& curves() const { return curves_; }

 private:
  void take_over(const std::vector<std::string>& block);
  void visit(const Exchange& exchange, TransferMeasurer& measurer, double seconds);
  static double uncertainty(const Curve& curve);

  std::set<Exchange> exchanges_;
  std::int64_t most_bytes_;
  Journal& journal_;
  std::map<Exchange, Curve> curves_;
};

// 64 B, 256 B, ... up to `most`, each a multiple of 4 x ranks bytes.
std::vector<std::int64_t> message_sizes(std::int64_t most, std::int64_t ranks);

}  // namespace orrery::runtime
