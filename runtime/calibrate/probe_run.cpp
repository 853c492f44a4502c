#include "runtime/calibrate/probe_run.h"

#include <algorithm>
#include <barrier>
#include <ctime>

#include "base/check.h"
#include "runtime/calibrate/together.h"
#include "runtime/comm/thread_world.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/run/watch.h"

namespace orrery::runtime {
namespace {

constexpr std::int64_t kWarmUp = 2, kLeastSteps = 3;
constexpr double kStallLimit_s = 30.0;

double process_cpu_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

class Probe {
 public:
  Probe(const schedule::Schedule& schedule, double seconds, std::int64_t most_steps)
      : schedule_(schedule),
        seconds_(seconds),
        most_steps_(most_steps),
        tokens_(pattern_tokens(256, 1)),
        worlds_(make_thread_worlds(static_cast<int>(schedule.world))),
        slots_(worlds_.size()),
        meeting_(static_cast<std::ptrdiff_t>(worlds_.size())) {
    result_.plans.resize(worlds_.size());
    result_.times.resize(worlds_.size());
  }

  ProbeTimes run() {
    Board board;
    for (BoardSlot& slot : slots_) board.push_back(&slot);
    const Watch watch(
        schedule_, board, {.no_progress_s = kStallLimit_s}, stop_,
        [this](const std::string& message) { stop_.fail(std::make_exception_ptr(WorldError(message))); });
    run_together(
        worlds_.size(), [this](std::size_t r) { guarded(r); },
        [this] {
          stop_.fail(std::make_exception_ptr(WorldError("a rank has no thread")));
          meeting_.arrive_and_drop();
        });
    if (stop_.error()) std::rethrow_exception(stop_.error());
    return std::move(result_);
  }

 private:
  void guarded(std::size_t r) {
    try {
      rank(r);
    } catch (const Stopped&) {
      meeting_.arrive_and_drop();
    } catch (...) {
      stop_.fail(std::current_exception());
      meeting_.arrive_and_drop();
    }
  }

  void rank(std::size_t r) {
    CpuDevice device(cpu_job(schedule_, *tokens_, false));
    Executor executor(schedule_, *worlds_[r], device, slots_[r], stop_, {.first_kept_step = kWarmUp});
    const std::int64_t begin = now_ns();
    executor.run(kWarmUp);
    if (r == 0) {
      const double step_s = static_cast<double>(now_ns() - begin) * 1e-9 / kWarmUp;
      steps_ = std::clamp(static_cast<std::int64_t>(seconds_ / step_s), kLeastSteps, most_steps_);
    }
    meeting_.arrive_and_wait();
    const double cpu = process_cpu_seconds();
    executor.run(steps_);
    meeting_.arrive_and_wait();
    if (r == 0) result_.cpu_s = process_cpu_seconds() - cpu;
    result_.plans[r] = executor.plan();
    for (std::int64_t step = kWarmUp; step < kWarmUp + steps_; ++step) {
      std::vector<OpTimes>& times = result_.times[r].emplace_back();
      for (std::uint32_t op = 0; op < executor.plan().ops.size(); ++op)
        times.push_back(executor.times(step, op));
    }
  }

  const schedule::Schedule& schedule_;
  const double seconds_;
  const std::int64_t most_steps_;
  const std::unique_ptr<TokenSource> tokens_;
  const std::vector<std::unique_ptr<World>> worlds_;
  std::vector<BoardSlot> slots_;
  StopSign stop_;
  std::barrier<> meeting_;
  std::int64_t steps_ = 0;
  ProbeTimes result_;
};

}  // namespace

ProbeTimes run_probe(const schedule::Schedule& schedule, double seconds, std::int64_t most_steps) {
  return Probe(schedule, seconds, most_steps).run();
}

}  // namespace orrery::runtime
