#include "runtime/run/watch.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <utility>

#include "runtime/executor/step_plan.h"
#include "runtime/run/process_state.h"
#include "schedule/trace_meetings.h"

namespace orrery::runtime {
namespace {

using schedule::MeetingKey;

constexpr const char* kPerforms = ", is performing it";

struct Standing {
  std::int64_t step = 0;
  std::size_t entry = 0;
  bool running = false;
};

// One rank as the board shows it: where each of its streams stands.
class RankView {
 public:
  RankView(const schedule::Schedule& schedule, const schedule::MeetingTable& meetings, std::int64_t rank,
           const BoardSlot& slot)
      : plan_(plan_step(schedule, rank)), slot_(slot) {
    for (std::size_t s = 0; s < schedule::kStreams; ++s) {
      if (plan_.streams[s].empty()) continue;
      const std::uint64_t position = slot.position[s].load(std::memory_order_relaxed);
      const std::uint64_t entries = plan_.streams[s].size();
      at_[s] = {static_cast<std::int64_t>(position / 2 / entries), static_cast<std::size_t>(position / 2 % entries), position % 2 == 1};
    }
    for (std::uint32_t op = 0; op < plan_.ops.size(); ++op)
      if (const auto key = meetings.find(rank, op)) ops_of_[*key].push_back(op);
  }

  const StepPlan& plan() const { return plan_; }
  const BoardSlot& slot() const { return slot_; }

  bool has_started(std::uint32_t op, std::int64_t step) const {
    const PlannedOp& planned = plan_.ops[op];
    const Standing& at = at_[static_cast<std::size_t>(planned.op->stream)];
    if (at.step != step) return at.step > step;
    return at.entry > planned.entry || (at.entry == planned.entry && at.running);
  }
  // The op of this rank that is the other side of a meeting; several where both sides are here.
  std::vector<std::uint32_t> ops_in(const MeetingKey& key) const {
    const auto found = ops_of_.find(key);
    return found == ops_of_.end() ? std::vector<std::uint32_t>{} : found->second;
  }
  // Ops that are running: all of one entry.
  std::vector<std::pair<std::uint32_t, std::int64_t>> running() const {
    std::vector<std::pair<std::uint32_t, std::int64_t>> ops;
    for (std::size_t s = 0; s < schedule::kStreams; ++s)
      if (!plan_.streams[s].empty() && at_[s].running)
        for (const std::uint32_t op : plan_.ops_of(plan_.streams[s][at_[s].entry])) ops.emplace_back(op, at_[s].step);
    return ops;
  }

 private:
  StepPlan plan_;
  const BoardSlot& slot_;
  std::array<Standing, schedule::kStreams> at_{};
  std::map<MeetingKey, std::vector<std::uint32_t>> ops_of_;
};

class Explainer {
 public:
  Explainer(const schedule::Schedule& schedule, const Board& board) : meetings_(schedule) {
    for (std::size_t r = 0; r < board.size(); ++r)
      views_.push_back(board[r] == nullptr ? nullptr
                                           : std::make_unique<RankView>(schedule, meetings_, static_cast<std::int64_t>(r), *board[r]));
  }

  std::vector<std::string> lines() {
    std::vector<std::string> culprits, others;
    for (std::size_t r = 0; r < views_.size(); ++r) {
      if (views_[r] == nullptr) continue;
      bool waits = false;
      std::string text = line(static_cast<std::int64_t>(r), waits);
      (waits ? others : culprits).push_back(std::move(text));
    }
    culprits.insert(culprits.end(), others.begin(), others.end());
    return culprits;
  }

 private:
  std::string line(std::int64_t rank, bool& waits) const {
    const RankView& view = *views_[static_cast<std::size_t>(rank)];
    std::string text = fmt::format("rank {}", rank);
    const std::int64_t process = view.slot().process.load();
    const char state = process == 0 ? 'R' : process_state(process);
    if (state == 'T') text += fmt::format(" (process {} is stopped)", process);
    if (state == 'X' || state == 'Z') text += fmt::format(" (process {} is dead)", process);
    const bool awake = state == 'R' || state == 'S';
    if (const char* const owes = between_steps(view.slot().state.load(), waits); owes != nullptr) {
      waits = waits && awake;
      return text + owes;
    }
    std::vector<std::string> parts;
    for (const auto& [op, step] : view.running()) {
      std::string part = fmt::format("{}, step {}", describe(view.plan(), op), step);
      const std::vector<std::int64_t> missing = absent(rank, op, step);
      if (!missing.empty()) {
        part += fmt::format(", waits for rank{} {}", missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
        waits = waits || awake;
      } else if (schedule::is_communication(view.plan().ops[op].op->kind)) {
        part += ", all sides are there";
      } else {
        part += kPerforms;
      }
      parts.push_back(std::move(part));
    }
    return text + ": " + (parts.empty() ? "between two ops" : fmt::format("{}", fmt::join(parts, "; ")));
  }

  // What a rank does that is in no step; null where it is in one. `waits`: for others.
  static const char* between_steps(RankState state, bool& waits) {
    waits = state == RankState::between_runs || state == RankState::finished;
    switch (state) {
      case RankState::starting: return ": has not started its first step";
      case RankState::between_runs: return ": has ended its steps, and waits for the others (checkpoint or trace)";
      case RankState::saving: return ": is writing its part of a checkpoint";
      case RankState::finished: return ": has finished";
      case RankState::running:
      case RankState::failed: break;
    }
    return nullptr;
  }

  // Sides that have not started, of those that can be seen.
  std::vector<std::int64_t> absent(std::int64_t rank, std::uint32_t op, std::int64_t step) const {
    const RankView& view = *views_[static_cast<std::size_t>(rank)];
    std::vector<std::int64_t> missing;
    const auto key = meetings_.find(rank, op);
    if (!key) return missing;
    for (const std::int64_t side : sides_of(view.plan(), view.plan().ops[op])) {
      const RankView* const other = views_[static_cast<std::size_t>(side)].get();
      if (side == rank || other == nullptr) continue;
      for (const std::uint32_t theirs : other->ops_in(*key))
        if (!other->has_started(theirs, step)) missing.push_back(side);
    }
    return missing;
  }

  schedule::MeetingTable meetings_;
  std::vector<std::unique_ptr<RankView>> views_;
};

}  // namespace

std::vector<std::string> who_waits_for_whom(const schedule::Schedule& schedule, const Board& board) {
  return Explainer(schedule, board).lines();
}

Watch::Watch(const schedule::Schedule& schedule, Board board, const WatchLimits& limits, const StopSign& stop,
             std::function<void(const std::string&)> on_stall)
    : schedule_(schedule), board_(std::move(board)), limits_(limits), stop_(stop), on_stall_(std::move(on_stall)),
      thread_([this] { look(); }) {}

Watch::~Watch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::uint64_t Watch::progress() const {
  std::uint64_t sum = 0;
  for (const BoardSlot* slot : board_)
    if (slot != nullptr) sum += slot->completed.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(slot->state.load());
  return sum;
}

bool Watch::all_finished() const {
  for (const BoardSlot* slot : board_)
    if (slot != nullptr && slot->state.load() != RankState::finished) return false;
  return true;
}

std::string Watch::dead_process() const {
  for (std::size_t r = 0; r < board_.size(); ++r) {
    if (board_[r] == nullptr || board_[r]->state.load() == RankState::finished) continue;
    const std::int64_t process = board_[r]->process.load();
    if (process == 0) continue;
    const char state = process_state(process);
    if (state == 'X' || state == 'Z') return fmt::format("rank {} (process {}) died", r, process);
  }
  return {};
}

std::string Watch::disobedience(double asked_for_s) const {
  if (stop_.asked() > 1) return "stopped at once, as was asked a second time";
  if (stop_.hurried() && asked_for_s > limits_.asked_s) return "stopped by a signal";
  return {};
}

// A process that has died stops the others soon, so who goes on need not be looked at.
std::string Watch::trouble(double without_progress_s, double asked_for_s) const {
  std::string message = limits_.who_is_gone ? limits_.who_is_gone() : std::string();
  if (!message.empty()) return message;
  if (without_progress_s > 0.0) message = dead_process();
  if (message.empty()) message = disobedience(asked_for_s);
  const bool stalled = message.empty() && without_progress_s >= limits_.no_progress_s;
  if (stalled) message = fmt::format("no progress for {:.1f} s", without_progress_s);
  if (message.empty()) return message;
  try {
    bool performs = false;
    for (const std::string& line : who_waits_for_whom(schedule_, board_)) {
      message += "\n  " + line;
      performs = performs || line.find(kPerforms) != std::string::npos;
    }
    if (stalled && performs) message += "\n  hint: where that op only takes long, a larger --stall-limit waits for it";
  } catch (const std::exception& error) {
    message += fmt::format("\n  (who waits for whom was not found out: {})", error.what());
  }
  return message;
}

void Watch::look() {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point then) { return std::chrono::duration<double>(Clock::now() - then).count(); };
  std::uint64_t last = progress();
  Clock::time_point progressed = Clock::now(), not_asked = Clock::now();
  const auto pause = std::chrono::duration<double>(std::min(0.05, limits_.no_progress_s / 10.0));
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, pause, [this] { return over_; })) return;
    }
    const std::uint64_t now = progress();
    const bool progresses = now != last || all_finished();
    if (progresses) progressed = Clock::now();
    last = now;
    if (!stop_.hurried()) not_asked = Clock::now();
    const std::string message = trouble(progresses ? 0.0 : since(progressed), since(not_asked));
    if (message.empty()) continue;
    on_stall_(message);
    return;
  }
}

}  // namespace orrery::runtime
