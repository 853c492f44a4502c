#include "runtime/run/rank_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/diagnostics.h"
#include "runtime/cpu/emulated_device.h"
#include "runtime/executor/element.h"
#include "runtime/run/checkpoint_saver.h"
#include "runtime/state/checkpoint_directory.h"
#include "runtime/state/initialise.h"
#include "runtime/state/save.h"
#include "runtime/state/load.h"

namespace orrery::runtime {

Element ExecutorMemory::element(BufferId buffer) const {
  return element_of(executor_.plan().program->buffers[buffer.index()].type, in_double_);
}

RankRun::RankRun(const RunJob& job, World& world, BoardSlot& slot, StopSign& stop, RankHooks hooks)
    : job_(job), world_(world), slot_(slot), stop_(stop), hooks_(std::move(hooks)) {}

RankRun::~RankRun() = default;

void RankRun::run() {
  const bool emulates = job_.options.emulate != nullptr;
  if (emulates) {
    device_ = std::make_unique<EmulatedDevice>(*job_.options.emulate, world_.rank(), stop_);
  } else {
    auto cpu = std::make_unique<CpuDevice>(cpu_job(*job_.schedule, *job_.tokens, job_.options.in_double));
    cpu_ = cpu.get();
    device_ = std::move(cpu);
  }
  ExecutorOptions options;
  options.first_kept_step = job_.options.discard;
  options.most_kept_steps = kept_steps(job_);
  executor_ = std::make_unique<Executor>(*job_.schedule, world_, *device_, slot_, stop_, options);
  started_.store(executor_.get(), std::memory_order_release);
  agree();
  if (!emulates) prepare_state();
  if (world_.rank() == 0) executor_->on_step = hooks_.on_step;
  if (world_.rank() == 0 && hooks_.say && options.most_kept_steps < job_.options.steps - job_.options.discard)
    hooks_.say(fmt::format("times are kept of {} steps, behind the first {}: a trace holds no more", options.most_kept_steps,
                           job_.options.discard));
  run_stretches();
  if (hooks_.inspect && !emulates) hooks_.inspect(*executor_, *memory_, layout_);
}

// Ranks that hold different schedules would meet in wrong places, or wait forever.
void RankRun::agree() const {
  const auto size = static_cast<std::size_t>(world_.size());
  if (size == 1) return;
  std::vector<std::int32_t> words(2 * size), own{static_cast<std::int32_t>(job_.fingerprint & 0xffffffffU),
                                                 static_cast<std::int32_t>(job_.fingerprint >> 32)};
  CommCall call;
  call.kind = CommKind::all_gather;
  call.element = Element::int32;
  call.x.push_back({reinterpret_cast<std::byte*>(own.data()), 1, 2, 2});
  call.y.push_back({reinterpret_cast<std::byte*>(words.data()), 1, 2 * world_.size(), 2 * world_.size()});
  call.what = "comparison of schedules";
  executor_->complete(std::move(call));
  std::vector<std::size_t> others;
  for (std::size_t r = 0; r < size; ++r)
    if (words[2 * r] != words[0] || words[2 * r + 1] != words[1]) others.push_back(r);
  if (!others.empty())
    throw WorldError(fmt::format("rank{} {} hold{} another schedule or model than rank 0: give all ranks the same files and "
                                 "the same program", others.size() == 1 ? "" : "s", fmt::join(others, ", "),
                                 others.size() == 1 ? "s" : ""));
}

void RankRun::prepare_state() {
  memory_ = std::make_unique<ExecutorMemory>(*executor_, slot_, job_.options.in_double);
  layout_ = state_layout(*job_.schedule, world_.rank());
  if (job_.options.resume.empty()) {
    initialise(*job_.schedule, layout_, *memory_);
    return;
  }
  clear_state(layout_, *memory_);
  const Loaded loaded = load_checkpoint(job_.options.resume, *job_.schedule, layout_, *memory_);
  OptimizerProgress progress;
  progress.optimizer_steps = loaded.progress.optimizer_steps;
  progress.scaler.scale = loaded.progress.loss_scale;
  progress.scaler.good_steps = loaded.progress.steps_since_overflow;
  cpu_->resume(progress);
  executor_->start_at(loaded.progress.step);
  if (hooks_.say && world_.rank() == 0) {
    // Of another seed a note says that it draws other data.
    if (loaded.progress.seed == job_.schedule->hyper.seed && loaded.progress.data_fingerprint != job_.tokens->fingerprint())
      hooks_.say(fmt::format("the checkpoint's data was {}; this run reads {}", loaded.progress.data_source,
                             loaded.progress.data_source == job_.tokens->description() ? "other data of the same name"
                                                                                       : job_.tokens->description()));
    hooks_.say(fmt::format("resumed at step {} from {}", loaded.progress.step, loaded.path));
    for (const std::string& note : loaded.notes) hooks_.say(note);
  }
}

// On rank 0: what is in the directory must be this run's, and stay so.
void RankRun::take_directory(const std::string& directory) {
  lock_ = std::make_unique<DirectoryLock>(directory);
  if (!lock_->holds() && hooks_.say)
    hooks_.say(fmt::format("{}: cannot be locked here; no other run may save into it", directory));
  refuse_foreign_checkpoints(directory, job_.schedule->model);
  refuse_later_checkpoints(directory, executor_->next_step());
}

void RankRun::run_stretches() {
  const std::int64_t end = executor_->next_step() + job_.options.steps;
  const bool saves = !job_.options.save_directory.empty();
  if (saves && world_.rank() == 0) take_directory(job_.options.save_directory);
  if (saves) saver_ = std::make_unique<CheckpointSaver>(job_, *executor_, slot_, layout_, *memory_);
  while (executor_->next_step() < end && !executor_->stopped_early()) {
    const std::int64_t left = end - executor_->next_step(), every = job_.options.save_every;
    const bool part = saves && every > 0;
    executor_->run(part ? std::min(left, every - executor_->next_step() % every) : left);
    if (saves) saver_->begin(cpu_->progress());
  }
  if (saves) saver_->finish();
}

schedule::RankTrace RankRun::trace() const {
  schedule::RankTrace trace;
  trace.rank = world_.rank();
  const Executor* const executor = started_.load(std::memory_order_acquire);
  if (executor == nullptr) return trace;
  trace.peak_live_bytes = executor->arena().peak_live_bytes;
  trace.peak_host_bytes = executor->arena().peak_host_bytes;
  trace.arena_bytes = executor->arena().device_bytes;
  trace.records = executor->records();
  return trace;
}

bool RankRun::stopped_early() const {
  const Executor* const executor = started_.load(std::memory_order_acquire);
  return executor != nullptr && executor->stopped_early();
}

std::vector<double> RankRun::losses() const {
  const Executor* const executor = started_.load(std::memory_order_acquire);
  return executor == nullptr ? std::vector<double>{} : executor->losses();
}

}  // namespace orrery::runtime
