#include "runtime/run/rank_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/diagnostics.h"
#include "runtime/cpu/emulated_device.h"
#include "runtime/executor/element.h"
#include "runtime/state/checkpoint_directory.h"
#include "runtime/state/initialise.h"
#include "runtime/state/load.h"
#include "runtime/state/save.h"
#include "schedule/trace_meetings.h"

namespace orrery::runtime {

// A checkpoint on its way to the disk. `saved` is set by the thread that writes; rank 0's then waits for all the others'.
struct RankRun::Saving {
  SavePlace place;
  Progress progress;
  Snapshot data;
  std::thread thread;
  std::exception_ptr error;
  std::atomic<bool> everybody_saved{false};  // known from outside: a barrier behind the last step
};

Element ExecutorMemory::element(BufferId buffer) const {
  return element_of(executor_.plan().program->buffers[buffer.index()].type, in_double_);
}

RankRun::RankRun(const RunJob& job, World& world, BoardSlot& slot, StopSign& stop, RankHooks hooks)
    : job_(job), world_(world), slot_(slot), stop_(stop), hooks_(std::move(hooks)) {}

RankRun::~RankRun() {
  if (saving_ && saving_->thread.joinable()) {
    saving_->everybody_saved.store(true);  // somebody failed: nothing is committed, see save()
    saving_->thread.join();
  }
}

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
  if (world_.rank() == job_.options.miscount_rank) options.miscount_from = job_.options.miscount_from;
  executor_ = std::make_unique<Executor>(*job_.schedule, world_, *device_, slot_, stop_, options);
  agree();
  if (!emulates) prepare_state();
  if (world_.rank() == 0) executor_->on_step = hooks_.on_step;
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
  memory_ = std::make_unique<ExecutorMemory>(*executor_, job_.options.in_double);
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
  if (loaded.progress.data_fingerprint != job_.tokens->fingerprint() && hooks_.say && world_.rank() == 0)
    hooks_.say(fmt::format("the checkpoint's data was {}; this run reads {}", loaded.progress.data_source,
                           job_.tokens->description()));
  if (hooks_.say && world_.rank() == 0) {
    hooks_.say(fmt::format("resumed at step {} from {}", loaded.progress.step, loaded.path));
    for (const std::string& note : loaded.notes) hooks_.say(note);
  }
}

void RankRun::run_stretches() {
  const std::int64_t end = executor_->next_step() + job_.options.steps;
  const bool saves = !job_.options.save_directory.empty();
  if (saves && world_.rank() == 0) refuse_later_checkpoints(job_.options.save_directory, executor_->next_step());
  while (executor_->next_step() < end && !executor_->stopped_early()) {
    const std::int64_t left = end - executor_->next_step(), every = job_.options.save_every;
    const bool part = saves && every > 0;
    executor_->run(part ? std::min(left, every - executor_->next_step() % every) : left);
    if (saves) save(executor_->next_step() >= end || executor_->stopped_early());
  }
  if (saves) finish_saving();
}

void RankRun::save(bool last) {
  finish_saving();
  if (!last && job_.options.save_every == 0) return;
  if (!saving_) saving_ = std::make_unique<Saving>();
  Saving& s = *saving_;
  const std::int64_t step = executor_->next_step();
  s.place = {job_.options.save_directory, step, job_.run_word};
  s.progress = {.step = step,
                .optimizer_steps = cpu_->progress().optimizer_steps,
                .loss_scale = cpu_->progress().scaler.scale,
                .steps_since_overflow = cpu_->progress().scaler.good_steps,
                .seed = job_.schedule->hyper.seed,
                .data_source = job_.tokens->description(),
                .data_fingerprint = job_.tokens->fingerprint(),
                .next_data_step = step};
  snapshot(layout_, *memory_, s.data);
  s.everybody_saved.store(false);
  executor_->contribution.store(0.0);
  executor_->total_contribution.store(0.0);
  s.thread = std::thread([this, &s] {
    try {
      save_rank(s.place, world_.rank(), s.data);
      executor_->contribution.store(1.0);
      if (world_.rank() != 0) return;
      while (!s.everybody_saved.load() && executor_->total_contribution.load() < static_cast<double>(world_.size()))
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      if (!stop_.failed()) commit(s.place, *job_.schedule, layout_, s.progress, job_.options.keep);
    } catch (...) {
      s.error = std::current_exception();
    }
  });
}

// Until the checkpoint under way is complete on all ranks and has its name.
void RankRun::finish_saving() {
  if (!saving_ || !saving_->thread.joinable()) return;
  if (world_.rank() != 0) saving_->thread.join();
  while (world_.rank() == 0 && executor_->contribution.load() < 1.0 && !saving_->error)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  CommCall barrier;
  barrier.what = "checkpoint written by all";
  executor_->complete(std::move(barrier));
  saving_->everybody_saved.store(true);
  if (world_.rank() == 0) saving_->thread.join();
  if (saving_->error) std::rethrow_exception(std::exchange(saving_->error, nullptr));
}

std::int64_t RankRun::steps_done() const { return executor_ ? executor_->settled() : 0; }

schedule::RankTrace RankRun::trace() const {
  schedule::RankTrace trace;
  trace.rank = world_.rank();
  if (!executor_) return trace;
  trace.peak_live_bytes = executor_->arena().peak_live_bytes;
  trace.peak_host_bytes = executor_->arena().peak_host_bytes;
  trace.arena_bytes = executor_->arena().device_bytes;
  for (std::int64_t step = executor_->first_kept_step(); step < executor_->settled() && executor_->keeps(step); ++step)
    for (std::uint32_t op = 0; op < executor_->plan().ops.size(); ++op) {
      const OpTimes& t = executor_->times(step, op);
      trace.records.push_back({static_cast<std::int32_t>(step), op, t.ready, t.started, t.ended});
    }
  return trace;
}

schedule::Trace merge_traces(const RunJob& job, std::vector<schedule::RankTrace> ranks, std::vector<double> losses) {
  schedule::Trace trace;
  trace.origin = job.options.emulate != nullptr ? schedule::TraceOrigin::emulated : schedule::TraceOrigin::measured;
  trace.scenario = job.schedule->name;
  trace.fingerprint = job.fingerprint;
  trace.world = job.schedule->world;
  if (!ranks.empty() && !ranks.front().records.empty()) {
    trace.first_step = ranks.front().records.front().step;
    trace.steps = ranks.front().records.back().step + 1 - trace.first_step;
  }
  trace.losses = std::move(losses);
  trace.complete = static_cast<std::int64_t>(trace.losses.size()) >= job.options.steps;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const schedule::RankTrace& rank : ranks)
    for (const schedule::TraceRecord& r : rank.records) first = std::min(first, r.ready_ns > 0 ? r.ready_ns : r.begin_ns);
  for (schedule::RankTrace& rank : ranks)
    for (schedule::TraceRecord& r : rank.records) {
      r.begin_ns -= first;
      r.end_ns -= first;
      r.ready_ns = std::max<std::int64_t>(0, r.ready_ns - first);
    }
  trace.ranks = std::move(ranks);
  schedule::fill_begins(*job.schedule, trace);
  return trace;
}

}  // namespace orrery::runtime
