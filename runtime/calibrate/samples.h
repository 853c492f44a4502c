// Repeated timings of one thing, and what they say: the median, the spread, how sure the median is, and how
// many of them were disturbed. A timing is disturbed where the thread lost its core meanwhile (CoreWatch), or
// where it lies further than six deviations above or below the others (deviation from the median absolute
// one, at least 2 %).
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <vector>

namespace orrery::runtime {

struct SampleSummary {
  double seconds = 0.0, p10 = 0.0, p90 = 0.0;  // of those that were not disturbed
  std::int64_t samples = 0, outliers = 0;      // how many of those, and how many of the others
  // Half of the median's 95 % interval over the median: 1.58 IQR / sqrt(n) (McGill, Tukey, Larsen 1978). 1
  // for fewer than 3.
  double uncertainty = 1.0;
};

class Samples {
 public:
  static constexpr std::size_t kMost = 400;  // of each kind; later ones are dropped, and not counted either

  void add(double seconds, bool disturbed);
  bool empty() const { return kept_.empty() && disturbed_.empty(); }
  std::size_t count() const { return kept_.size() + disturbed_.size(); }
  // Where fewer than 3 were left alone, of all of them. Needs one.
  SampleSummary summary() const;

 private:
  std::vector<float> kept_, disturbed_;
};

// Whether this thread lost its core between two moments: the wall's clock then went on for longer than its
// own.
class CoreWatch {
 public:
  void begin() { cpu_ns_ = thread_cpu_ns(); }
  // What the thread itself ran since begin(), a microsecond of asking included.
  std::int64_t ran_ns() const { return thread_cpu_ns() - cpu_ns_; }
  static bool lost(std::int64_t wall_ns, std::int64_t ran_ns) {
    return wall_ns - ran_ns > kLeastLossNs + wall_ns / 50;
  }

 private:
  static constexpr std::int64_t kLeastLossNs = 2'000;
  static std::int64_t thread_cpu_ns() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }
  std::int64_t cpu_ns_ = 0;
};

}  // namespace orrery::runtime
