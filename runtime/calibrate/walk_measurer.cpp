#include "runtime/calibrate/walk_measurer.h"

#include <barrier>
#include <exception>
#include <mutex>
#include <optional>

#include "runtime/calibrate/solo_walk.h"
#include "runtime/calibrate/together.h"
#include "runtime/executor/executor.h"

namespace orrery::runtime {
namespace {

// Threads that walk at once, and end together.
class Walkers {
 public:
  Walkers(const schedule::Schedule& schedule, const std::vector<std::int64_t>& ranks, double seconds,
          bool busy, const std::atomic<bool>& stop)
      : schedule_(schedule),
        ranks_(ranks),
        seconds_(seconds),
        busy_(busy),
        stop_(stop),
        tokens_(pattern_tokens(schedule.model.vocab, schedule.hyper.seed)),
        ready_(static_cast<std::ptrdiff_t>(ranks.size())) {}

  std::vector<KernelTiming> run() {
    run_together(
        ranks_.size(), [this](std::size_t i) { guarded(ranks_[i]); },
        [this] {
          failed_.store(true);
          ready_.arrive_and_drop();
        });
    if (error_) std::rethrow_exception(error_);
    return std::move(timings_);
  }

 private:
  void guarded(std::int64_t rank) {
    std::optional<SoloWalk> walk;
    std::vector<KernelTiming> timings;
    try {
      walk.emplace(schedule_, rank, *tokens_);
    } catch (...) {
      fail();
    }
    ready_.arrive_and_wait();
    try {
      if (walk && !failed_.load()) steps(*walk, rank, timings);
    } catch (...) {
      fail();
    }
    const std::lock_guard lock(mutex_);
    timings_.insert(timings_.end(), timings.begin(), timings.end());
  }

  void steps(SoloWalk& walk, std::int64_t rank, std::vector<KernelTiming>& timings) {
    const auto program = static_cast<std::uint32_t>(schedule_.program_group.index(rank));
    const schedule::Op* const first = schedule_.program_of(rank).ops.data();
    const auto goes_on = [&] {
      return !stop_.load(std::memory_order_relaxed) && !failed_.load(std::memory_order_relaxed);
    };
    const std::int64_t begin = now_ns();
    bool through = false;
    for (std::int64_t step = 0; goes_on() && through_.load() < ranks_.size(); ++step) {
      walk.step([&](const SoloWalk::Timing& t) {
        if (step > 0 && through_.load(std::memory_order_relaxed) < ranks_.size())
          timings.push_back({program, static_cast<std::uint32_t>(walk.plan().ops[t.op].op - first),
                             static_cast<double>(t.ran_ns) * 1e-9, busy_, t.lost_core});
        return goes_on() && through_.load(std::memory_order_relaxed) < ranks_.size();
      });
      if (through || step == 0 || static_cast<double>(now_ns() - begin) * 1e-9 < seconds_) continue;
      through = true;
      through_.fetch_add(1);
    }
  }

  void fail() {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::current_exception();
    failed_.store(true);
  }

  const schedule::Schedule& schedule_;
  const std::vector<std::int64_t>& ranks_;
  const double seconds_;
  const bool busy_;
  const std::atomic<bool>& stop_;
  const std::unique_ptr<TokenSource> tokens_;
  std::barrier<> ready_;
  std::atomic<std::size_t> through_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::exception_ptr error_;
  std::vector<KernelTiming> timings_;
};

}  // namespace

std::vector<KernelTiming> WalkMeasurer::walk(const schedule::Schedule& schedule,
                                             const std::vector<std::int64_t>& ranks, double seconds,
                                             bool busy) const {
  return Walkers(schedule, ranks, seconds, busy, stop_).run();
}

std::vector<KernelTiming> WalkMeasurer::visit(const Workload& workload, const VisitLength& length) {
  const schedule::Schedule& schedule = *workload.schedule;
  std::vector<KernelTiming> all;
  const auto add = [&](const std::vector<std::int64_t>& ranks, double seconds, bool busy) {
    const std::vector<KernelTiming> more = walk(schedule, ranks, seconds, busy);
    all.insert(all.end(), more.begin(), more.end());
  };
  for (const std::vector<std::int64_t>& ranks : walking_ranks(schedule, ranks_))
    add(ranks, length.busy_s, true);
  // With one rank on the machine, the walk above was alone.
  if (ranks_ > 1)
    for (const std::int64_t rank : one_of_each_program(schedule)) add({rank}, length.alone_s, false);
  return all;
}

}  // namespace orrery::runtime
