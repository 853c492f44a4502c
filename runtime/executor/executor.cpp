#include "runtime/executor/executor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/diagnostics.h"
#include "runtime/executor/thread_slice.h"

namespace orrery::runtime {

using schedule::DataType;
using schedule::OpKind;
using schedule::Stream;

struct Executor::Queue {
  std::size_t stream = 0;
  std::vector<std::vector<EntryTransfer>> transfers;  // of each entry; empty for local ops
  std::atomic<std::int64_t> step{0};
  std::size_t entry = 0, wait = 0;  // where it stands; the first wait not yet seen to be over
  bool running = false;
  std::int64_t last_ended = 0, ready = 0, started = 0;
  std::vector<std::uint64_t> sequences;
};

struct Executor::Lane {
  std::mutex driving;
  std::vector<Queue*> queues;
  bool communicates = false;
};

// Adds up what ranks have to say at the end of a step: {loss, stop requests, raised flags}.
struct Executor::StepEnd {
  double values[3] = {0.0, 0.0, 0.0};
  std::unique_ptr<Transfer> transfer;  // none in a world of one
  bool running = false;
};

namespace {

std::size_t lane_of(Stream stream) {
  switch (stream) {
    case Stream::compute: return 0;
    case Stream::to_host:
    case Stream::to_device:
    case Stream::cpu: return 2;
    case Stream::tensor:
    case Stream::data:
    case Stream::pipe_send_forward:
    case Stream::pipe_recv_forward:
    case Stream::pipe_send_backward:
    case Stream::pipe_recv_backward:
    case Stream::pipe_send_forward_2:
    case Stream::pipe_recv_forward_2:
    case Stream::pipe_send_backward_2:
    case Stream::pipe_recv_backward_2:
    case Stream::context:
    case Stream::host: return 1;
  }
  return 1;
}
constexpr std::size_t kCommunicationLane = 1;
constexpr std::int64_t kStepsAhead = 2;  // that a queue may begin beyond those that all ranks have ended
// Ends of an op that are remembered: somebody who looks at the one of the step before may stand one step behind this op's
// own stream.
constexpr std::size_t kEndsKept = 3;

std::size_t end_place(std::uint32_t op, std::int64_t step) { return kEndsKept * op + static_cast<std::size_t>(step) % kEndsKept; }

}  // namespace

Executor::Executor(const schedule::Schedule& schedule, World& world, Device& device, BoardSlot& board, StopSign& stop,
                   const ExecutorOptions& options)
    : world_(world), device_(device), board_(board), stop_(stop), options_(options),
      plan_(plan_step(schedule, world.rank())) {
  ElementBytes bytes{};
  for (std::size_t t = 0; t < bytes.size(); ++t) bytes[t] = device.element_bytes(static_cast<DataType>(t));
  arena_ = plan_arena(plan_, Order(plan_), bytes);
  add_waits(plan_, arena_.waits);
  bind_memory();
  done_ = std::make_unique<std::atomic<std::int64_t>[]>(plan_.ops.size());
  ended_at_ = std::make_unique<std::atomic<std::int64_t>[]>(kEndsKept * plan_.ops.size());
  everybody_ = communicator_of_all(world_, "end of step");
  between_runs_ = communicator_of_all(world_, "between runs");
  communicators_ = group_communicators(plan_, world_);
  make_lanes();
  prepare_transfers();
  mark_bell_ringers();
  stop_.add_bell(world_.bell());
}

Executor::~Executor() = default;

void Executor::bind_memory() {
  const auto moved = [this] { board_.completed.fetch_add(1, std::memory_order_relaxed); };
  device_memory_ = device_.allocate(arena_.device_bytes, moved);
  if (arena_.host_bytes > 0) host_memory_ = device_.allocate(arena_.host_bytes, moved);
  view_data_.reserve(plan_.views.size());
  const auto base = [&](const Allocation& a) { return plan_.buffer(a).on_host ? host_memory_ : device_memory_; };
  for (const PlannedView& v : plan_.views) {
    const Allocation& a = plan_.allocations[v.allocation];
    view_data_.push_back(base(a) + arena_.offset[v.allocation] + v.offset * device_.element_bytes(plan_.buffer(a).type));
  }
  persistent_of_.assign(plan_.program->buffers.size(), ~std::uint32_t{0});
  for (std::uint32_t a = 0; a < plan_.allocations.size(); ++a)
    if (plan_.allocations[a].persistent && plan_.allocations[a].instance == 0)
      persistent_of_[plan_.allocations[a].buffer.index()] = a;
}

std::byte* Executor::address(BufferId buffer, std::uint32_t instance) const {
  const std::uint32_t a = persistent_of_[buffer.index()] + instance;
  CHECK(a < plan_.allocations.size() && plan_.allocations[a].instance == instance, "not a persistent buffer");
  return (plan_.buffer(plan_.allocations[a]).on_host ? host_memory_ : device_memory_) + arena_.offset[a];
}

void Executor::make_lanes() {
  for (int i = 0; i < 3; ++i) lanes_.push_back(std::make_unique<Lane>());
  for (std::size_t s = 0; s < schedule::kStreams; ++s) {
    if (plan_.streams[s].empty()) continue;
    queues_.push_back(std::make_unique<Queue>());
    Queue& queue = *queues_.back();
    queue.stream = s;
    lanes_[lane_of(static_cast<Stream>(s))]->queues.push_back(&queue);
  }
}

void Executor::prepare_transfers() {
  const PlacedPlan placed{plan_, view_data_, device_};
  for (const auto& queue : queues_)
    for (const QueueEntry& entry : plan_.streams[queue->stream]) {
      queue->transfers.push_back(prepare_entry(placed, entry, communicators_));
      if (!queue->transfers.back().empty()) lanes_[lane_of(static_cast<Stream>(queue->stream))]->communicates = true;
    }
  step_end_ = std::make_unique<StepEnd>();
  if (world_.size() == 1) return;
  CommCall call;
  call.kind = CommKind::all_reduce;
  call.element = Element::fp64;
  call.y.push_back({reinterpret_cast<std::byte*>(step_end_->values), 1, 3, 3});
  call.what = "end of step";
  step_end_->transfer = everybody_->prepare({std::move(call)});
}

void Executor::mark_bell_ringers() {
  rings_.assign(plan_.ops.size(), 0);
  for (const PlannedOp& op : plan_.ops)
    for (const PlannedWait& wait : plan_.waits_of(op))
      if (lane_of(plan_.ops[wait.op].op->stream) != lane_of(op.op->stream)) rings_[wait.op] = 1;
}

bool Executor::waits_are_over(Queue& queue) {
  const std::int64_t step = queue.step.load(std::memory_order_relaxed);
  const auto ops = plan_.ops_of(plan_.streams[queue.stream][queue.entry]);
  std::size_t number = 0;
  for (const std::uint32_t id : ops)
    for (const PlannedWait& wait : plan_.waits_of(plan_.ops[id])) {
      if (number++ < queue.wait) continue;
      const std::int64_t of = wait.previous_step ? step - 1 : step;
      if (done_[wait.op].load(std::memory_order_acquire) < of + 1) return false;
      if (of >= 0) queue.ready = std::max(queue.ready, ended_at_[end_place(wait.op, of)].load(std::memory_order_relaxed));
      ++queue.wait;
    }
  return true;
}

void Executor::start(Queue& queue) {
  const std::int64_t step = queue.step.load(std::memory_order_relaxed);
  queue.running = true;
  queue.started = now_ns();
  auto& transfers = queue.transfers[queue.entry];
  if (transfers.empty()) {
    for (const std::uint32_t id : plan_.ops_of(plan_.streams[queue.stream][queue.entry])) {
      const PlannedOp& op = plan_.ops[id];
      if (op.op->kind == OpKind::host_wait) continue;
      const double loss = device_.perform({&plan_, id, step, {view_data_.data() + op.first_view, op.view_count}});
      if (op.op->kind == OpKind::cross_entropy_loss) loss_[step % 4].store(loss_[step % 4].load() + loss);
    }
    return;
  }
  const std::lock_guard lock(transfers_);
  for (const EntryTransfer& t : transfers) {
    t.sequences(plan_, step, queue.sequences);
    t.transfer->start(queue.sequences);
  }
}

void Executor::finish(Queue& queue) {
  const std::int64_t step = queue.step.load(std::memory_order_relaxed);
  const std::int64_t end = now_ns();
  bool ring = false;
  for (const std::uint32_t id : plan_.ops_of(plan_.streams[queue.stream][queue.entry])) {
    if (keeps(step)) times_[static_cast<std::size_t>(step - options_.first_kept_step)][id] = {queue.ready, queue.started, end};
    ended_at_[end_place(id, step)].store(end, std::memory_order_relaxed);
    done_[id].store(step + 1, std::memory_order_release);
    ring = ring || rings_[id] != 0;
  }
  queue.running = false;
  queue.last_ended = queue.ready = end;
  queue.wait = 0;
  if (++queue.entry == plan_.streams[queue.stream].size()) {
    queue.entry = 0;
    queue.step.store(step + 1, std::memory_order_release);
    ring = true;
  }
  board_.completed.fetch_add(1, std::memory_order_relaxed);
  if (ring) world_.bell().ring();
}

bool Executor::advance(Queue& queue) {
  const auto post = [&](bool running) {
    const auto entries = static_cast<std::uint64_t>(plan_.streams[queue.stream].size());
    const auto step = static_cast<std::uint64_t>(queue.step.load(std::memory_order_relaxed));
    board_.position[queue.stream].store(2 * (step * entries + queue.entry) + (running ? 1 : 0), std::memory_order_relaxed);
  };
  if (!queue.running) {
    // In this order: who sees that a step is settled sees the limit that its end has set.
    const std::int64_t settled = settled_.load(), limit = limit_.load();
    if (queue.step.load(std::memory_order_relaxed) >= std::min(limit, settled + kStepsAhead)) return false;
    if (!waits_are_over(queue)) return false;
    post(true);
    start(queue);
  }
  auto& transfers = queue.transfers[queue.entry];
  if (!transfers.empty()) {
    const std::lock_guard lock(transfers_);
    bool all = true;  // none may wait for another
    for (const EntryTransfer& t : transfers) all = t.transfer->test() && all;
    if (!all) return false;
  }
  finish(queue);
  post(false);
  return true;
}

bool Executor::advance(Lane& lane) {
  bool any = false;
  for (Queue* queue : lane.queues) any = advance(*queue) || any;
  if (&lane == lanes_[kCommunicationLane].get()) any = advance_step_end() || any;
  return any;
}

// The rank's own part of a step is over when all queues have gone on to the next one.
bool Executor::advance_step_end() {
  const std::int64_t step = settled_.load(std::memory_order_relaxed);
  if (!step_end_->running) {
    if (step >= limit_.load()) return false;
    for (const auto& queue : queues_)
      if (queue->step.load(std::memory_order_acquire) <= step) return false;
    const schedule::Group& tensor = plan_.schedule->groups[schedule::kTensor];
    const double loss = loss_[step % 4].exchange(0.0);
    step_end_->values[0] = tensor.index(plan_.rank) == 0 ? loss : 0.0;
    step_end_->values[1] = stop_.asked() > 0 ? 1.0 : 0.0;
    step_end_->values[2] = flag_.load() ? 1.0 : 0.0;
    step_end_->running = true;
    if (step_end_->transfer) {
      const std::lock_guard lock(transfers_);
      const std::uint64_t sequence[] = {static_cast<std::uint64_t>(step)};
      step_end_->transfer->start(sequence);
    }
  }
  if (step_end_->transfer) {
    const std::lock_guard lock(transfers_);
    if (!step_end_->transfer->test()) return false;
  }
  step_end_->running = false;
  flags_raised_.store(std::llround(step_end_->values[2]));
  if (step_end_->values[1] > 0.0) {
    limit_.store(std::min(limit_.load(), step + kStepsAhead));
    stopped_early_.store(true);  // whoever runs the next stretch hears of it, however short this one is
  }
  {
    const std::lock_guard lock(kept_);
    losses_.push_back(step_end_->values[0]);
    make_times(step + kStepsAhead + 1);
  }
  settled_.store(step + 1, std::memory_order_release);
  board_.completed.fetch_add(1, std::memory_order_relaxed);
  if (on_step) on_step(step, step_end_->values[0]);
  world_.bell().ring();
  return true;
}

bool Executor::keeps(std::int64_t step) const {
  return step >= options_.first_kept_step && step - options_.first_kept_step < static_cast<std::int64_t>(times_.size());
}

std::vector<double> Executor::losses() const {
  const std::lock_guard lock(kept_);
  return losses_;
}

std::vector<schedule::TraceRecord> Executor::records() const {
  const std::lock_guard lock(kept_);
  std::vector<schedule::TraceRecord> records;
  const std::int64_t settled = settled_.load(std::memory_order_acquire);
  for (std::int64_t step = options_.first_kept_step; step < settled && keeps(step); ++step)
    for (std::uint32_t op = 0; op < plan_.ops.size(); ++op) {
      const OpTimes& t = times(step, op);
      records.push_back({static_cast<std::int32_t>(step), op, t.ready, t.started, t.ended});
    }
  return records;
}

const OpTimes& Executor::times(std::int64_t step, std::uint32_t op) const {
  return times_[static_cast<std::size_t>(step - options_.first_kept_step)][op];
}

// With `kept_`.
void Executor::make_times(std::int64_t until_step) {
  for (std::int64_t step = std::max<std::int64_t>(0, until_step - kStepsAhead - 1); step < until_step; ++step) {
    if (!keeps(step)) continue;
    auto& times = times_[static_cast<std::size_t>(step - options_.first_kept_step)];
    if (!times) times = std::make_unique<OpTimes[]>(plan_.ops.size());
  }
}

bool Executor::all_done() const { return settled_.load(std::memory_order_acquire) >= limit_.load(); }

// A lane's thread: its own lane first, then the communication lane if nobody drives it, else sleep.
void Executor::drive(Lane& lane) {
  Lane& communication = *lanes_[kCommunicationLane];
  const auto try_advance = [&](Lane& which) {
    const std::unique_lock lock(which.driving, std::try_to_lock);
    return lock.owns_lock() && advance(which);
  };
  for (;;) {
    const std::uint64_t heard = world_.bell().heard();  // before looking, also at whether all is done
    if (all_done()) return;
    if (stop_.failed()) throw Stopped();
    if (&lane != &communication) try_advance(communication);
    if (try_advance(lane)) continue;
    if (&lane != &communication && try_advance(communication)) continue;
    world_.bell().wait(heard);
  }
}

void Executor::work(Lane& lane) {
  try {
    drive(lane);
  } catch (const Stopped&) {
  } catch (...) {
    board_.state.store(RankState::failed);
    stop_.fail(std::current_exception());
  }
}

void Executor::lower_flag() {
  flag_.store(false);
  flags_raised_.store(0);
}

void Executor::start_at(std::int64_t step) {
  const std::lock_guard lock(kept_);
  next_step_ = step;
  options_.first_kept_step += step;
  settled_.store(step);
  for (const auto& queue : queues_) queue->step.store(step);
  for (std::size_t op = 0; op < plan_.ops.size(); ++op) done_[op].store(step);
}

void Executor::complete(CommCall call) {
  if (world_.size() == 1) return;
  std::vector<CommCall> calls;
  calls.push_back(std::move(call));
  const auto transfer = between_runs_->prepare(std::move(calls));
  const std::uint64_t sequences[] = {completed_++};
  transfer->start(sequences);
  for (;;) {
    const std::uint64_t heard = world_.bell().heard();
    if (transfer->test()) return;
    if (stop_.failed()) throw Stopped();
    world_.bell().wait(heard);
  }
}

void Executor::start_lanes(std::vector<std::thread>& threads) {
  threads.reserve(lanes_.size());
  try {
    for (std::size_t l = 1; l < lanes_.size(); ++l)
      if (lanes_[l]->communicates || (l != kCommunicationLane && !lanes_[l]->queues.empty()))
        threads.emplace_back([this, l] {
          if (lanes_[l]->communicates) ask_for_short_slice();
          work(*lanes_[l]);
        });
  } catch (const std::system_error& error) {
    board_.state.store(RankState::failed);
    stop_.fail(std::make_exception_ptr(WorldError(fmt::format("no thread for a lane of rank {}: {}", plan_.rank, error.what()))));
  }
}

void Executor::run(std::int64_t count) {
  limit_.store(next_step_ + count);
  {
    const std::lock_guard lock(kept_);
    const std::int64_t until_limit = std::max<std::int64_t>(0, limit_.load() - options_.first_kept_step);
    times_.resize(static_cast<std::size_t>(std::min(until_limit, options_.most_kept_steps)));
    make_times(next_step_ + kStepsAhead);
  }
  board_.state.store(RankState::running);
  std::vector<std::thread> threads;
  start_lanes(threads);
  work(*lanes_[0]);
  for (std::thread& thread : threads) thread.join();
  if (stop_.failed()) throw Stopped();
  next_step_ = settled_.load();
  board_.state.store(RankState::between_runs);
}

}  // namespace orrery::runtime
