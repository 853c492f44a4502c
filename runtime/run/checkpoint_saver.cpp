#include "runtime/run/checkpoint_saver.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "base/diagnostics.h"
#include "runtime/state/save.h"

namespace orrery::runtime {
namespace {

constexpr std::chrono::milliseconds kLook{2}, kRound{100};

enum class Part { writing, written, failed };
enum class Verdict { open, commit, abandon };

// What ranks count in a round.
struct Count {
  double writing = 0.0, failed = 0.0, moves = 0.0;
};

Count count_over_ranks(Executor& executor, Count own) {
  CommCall call;
  call.kind = CommKind::all_reduce;
  call.element = Element::fp64;
  double values[] = {own.writing, own.failed, own.moves};
  call.y.push_back({reinterpret_cast<std::byte*>(values), 1, 3, 3});
  call.what = "checkpoint written by all";
  executor.complete(std::move(call));
  return {values[0], values[1], values[2]};
}

}  // namespace

struct CheckpointSaver::Saving {
  SavePlace place;
  Progress progress;
  Snapshot data;
  std::thread thread;
  std::exception_ptr error;  // written before `part` says failed, or the thread ends
  std::atomic<Part> part{Part::writing};
  std::atomic<Verdict> verdict{Verdict::open};
  std::atomic<std::int64_t> moves{0};
};

CheckpointSaver::CheckpointSaver(const RunJob& job, Executor& executor, BoardSlot& slot, const StateLayout& layout,
                                 StateMemory& memory)
    : job_(job), executor_(executor), slot_(slot), layout_(layout), memory_(memory) {}

CheckpointSaver::~CheckpointSaver() {
  if (!saving_ || !saving_->thread.joinable()) return;
  saving_->verdict.store(Verdict::abandon);
  saving_->thread.join();
}

void CheckpointSaver::begin(const OptimizerProgress& optimizer) {
  finish();
  if (!saving_) saving_ = std::make_unique<Saving>();
  Saving& s = *saving_;
  const std::int64_t step = executor_.next_step();
  s.place = {job_.options.save_directory, step, job_.run_word};
  s.progress = {.step = step,
                .optimizer_steps = optimizer.optimizer_steps,
                .loss_scale = optimizer.scaler.scale,
                .steps_since_overflow = optimizer.scaler.good_steps,
                .seed = job_.schedule->hyper.seed,
                .data_source = job_.tokens->description(),
                .data_fingerprint = job_.tokens->fingerprint(),
                .next_data_step = step};
  snapshot(layout_, memory_, s.data);
  s.part.store(Part::writing);
  s.verdict.store(Verdict::open);
  s.moves.store(0);
  executor_.lower_flag();
  s.thread = std::thread([this, &s] { write(s); });
}

void CheckpointSaver::write(Saving& s) {
  try {
    save_rank(s.place, executor_.rank(), s.data, [&s] { s.moves.fetch_add(1); });
    s.part.store(Part::written);
    executor_.raise_flag();
    if (executor_.rank() == 0 && may_commit(s)) commit(s.place, *job_.schedule, layout_, s.progress, job_.options.keep);
  } catch (...) {
    s.error = std::current_exception();
    s.part.store(Part::failed);
  }
}

// Waits until that is known.
bool CheckpointSaver::may_commit(const Saving& s) const {
  for (;;) {
    if (const Verdict verdict = s.verdict.load(); verdict != Verdict::open) return verdict == Verdict::commit;
    if (executor_.flags_raised() == job_.schedule->world) return true;
    std::this_thread::sleep_for(kLook);
  }
}

void CheckpointSaver::finish() {
  if (!saving_ || !saving_->thread.joinable()) return;
  Saving& s = *saving_;
  Count all, before{.moves = -1.0};
  do {
    for (auto waited = kLook; s.part.load() == Part::writing && waited < kRound; waited += kLook) {
      slot_.state.store(RankState::saving);
      std::this_thread::sleep_for(kLook);
    }
    const Part part = s.part.load();
    if (part != Part::writing) slot_.state.store(RankState::between_runs);
    all = count_over_ranks(executor_, {part == Part::writing ? 1.0 : 0.0, part == Part::failed ? 1.0 : 0.0,
                                       static_cast<double>(s.moves.load())});
    if (all.moves != std::exchange(before.moves, all.moves)) slot_.completed.fetch_add(1, std::memory_order_relaxed);
  } while (all.writing > 0.0);
  s.verdict.store(all.failed > 0.0 ? Verdict::abandon : Verdict::commit);
  s.thread.join();
  if (s.error) std::rethrow_exception(std::exchange(s.error, nullptr));
  if (all.failed == 0.0) return;
  CommCall never;  // whoever has failed says so, and is not coming
  never.what = "end of the job, since a checkpoint failed";
  executor_.complete(std::move(never));
}

}  // namespace orrery::runtime
