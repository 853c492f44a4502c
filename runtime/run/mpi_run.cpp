#include "runtime/run/mpi_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "base/diagnostics.h"
#include "base/random.h"
#include "runtime/run/clock_comparison.h"
#include "runtime/run/run_trace.h"
#include "runtime/run/watch.h"
#include "schedule/trace_file.h"

namespace orrery::runtime {
namespace {

struct Greeting {
  std::uint64_t machine = 0;
  std::uint64_t word = 0;     // rank 0's names the job's shared memory
};

// Of the host name and the system's start: where both are equal, so are memory and clock.
std::uint64_t machine_word() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  std::string text(name);
  if (std::ifstream file("/proc/sys/kernel/random/boot_id"); file) text.append(std::istreambuf_iterator<char>(file), {});
  std::uint64_t hash = 0;
  for (const char c : text) hash = mix_bits((hash ^ static_cast<unsigned char>(c)) + 0x9E3779B97F4A7C15ULL);
  return hash;
}

void complete(World& world, Transfer& transfer) {
  const std::uint64_t sequence[] = {0};
  transfer.start(sequence);
  for (;;) {
    const std::uint64_t heard = world.bell().heard();
    if (transfer.test()) return;
    world.bell().wait(heard);
  }
}

CommCall gather_call(std::byte* own, std::byte* all, std::int64_t bytes, int size, const char* what) {
  CommCall call;
  call.kind = CommKind::all_gather;
  call.element = Element::byte;
  call.x.push_back({own, 1, bytes, bytes});
  call.y.push_back({all, 1, bytes * size, bytes * size});
  call.what = what;
  return call;
}

std::vector<Greeting> greet(World& world) {
  const auto size = static_cast<std::size_t>(world.size());
  Greeting own{machine_word(), mix_bits(static_cast<std::uint64_t>(::getpid()) ^ static_cast<std::uint64_t>(now_ns()))};
  std::vector<Greeting> all(size, own);
  if (size == 1) return all;
  const auto communicator = communicator_of_all(world, "start");
  std::vector<CommCall> calls;
  calls.push_back(gather_call(reinterpret_cast<std::byte*>(&own), reinterpret_cast<std::byte*>(all.data()), sizeof own,
                              world.size(), "start"));
  const auto transfer = communicator->prepare(std::move(calls));
  complete(world, *transfer);
  return all;
}

}  // namespace

// The board of this machine's ranks. `spoken`: somebody has said why the job ends.
struct MpiRun::Shared {
  struct Memory {
    std::atomic<std::uint32_t> spoken{0};
    std::atomic<std::uint32_t> opened{0};
  };
  std::string name;
  std::size_t bytes = 0;
  void* mapped = nullptr;
  Memory* memory = nullptr;
  BoardSlot* slots = nullptr;
  Board board;

  Shared(World& world, const std::vector<Greeting>& greetings) {
    const auto size = static_cast<std::size_t>(world.size()), own = static_cast<std::size_t>(world.rank());
    name = fmt::format("/orrery-{:016x}", greetings.front().word);
    bytes = 4096 + size * sizeof(BoardSlot);
    mapped = map(name, bytes);
    // Fresh pages are zero, which is what every atomic of them starts with, whoever comes first.
    static_assert(sizeof(Memory) <= 4096 && static_cast<int>(RankState::starting) == 0);
    memory = static_cast<Memory*>(mapped);
    slots = reinterpret_cast<BoardSlot*>(static_cast<std::byte*>(mapped) + 4096);
    slots[own].process.store(::getpid());
    std::uint32_t here = 0;
    for (std::size_t r = 0; r < size; ++r) {
      const bool local = greetings[r].machine == greetings[own].machine;
      board.push_back(local ? &slots[r] : nullptr);
      here += local ? 1 : 0;
    }
    // The last one to come takes the name away, so that nothing is left behind however the job ends.
    if (memory->opened.fetch_add(1) + 1 == here) ::shm_unlink(name.c_str());
  }
  ~Shared() {
    if (mapped != nullptr) ::munmap(mapped, bytes);
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  bool may_speak() const { return memory->spoken.exchange(1) == 0; }

 private:
  static void* map(const std::string& name, std::size_t bytes) {
    const int file = ::shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
    void* memory = MAP_FAILED;
    if (file >= 0 && ::ftruncate(file, static_cast<off_t>(bytes)) == 0)
      memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int reason = errno;
    if (file >= 0) ::close(file);
    if (memory != MAP_FAILED) return memory;
    ::shm_unlink(name.c_str());
    throw WorldError(fmt::format("shared memory {}: {}", name, std::strerror(reason)));
  }
};

// Whose clock is not rank 0's, and how the two stand at the run's start and at its end.
struct MpiRun::Clocks {
  std::vector<int> of_machine;  // of each rank: index into `others`, -1 on rank 0's machine
  std::vector<int> others;      // the first rank of each other machine
  std::optional<ClockComparison> comparison;
  std::vector<ClockReading> start;

  Clocks(World& world, const std::vector<Greeting>& greetings) {
    std::vector<std::uint64_t> machines;
    for (std::size_t r = 0; r < greetings.size(); ++r) {
      const std::uint64_t machine = greetings[r].machine;
      const auto found = std::find(machines.begin(), machines.end(), machine);
      of_machine.push_back(machine == greetings.front().machine ? -1 : static_cast<int>(found - machines.begin()));
      if (of_machine.back() < 0 || found != machines.end()) continue;
      machines.push_back(machine);
      others.push_back(static_cast<int>(r));
    }
    comparison.emplace(world, others, now_ns);
    start = comparison->compare();
  }
  // On rank 0: puts the times of other machines' ranks on its clock.
  void finish(std::vector<schedule::RankTrace>& ranks, const std::function<void(const std::string&)>& say) {
    const std::vector<ClockReading> end = comparison->compare();
    for (schedule::RankTrace& rank : ranks) {
      const int machine = of_machine[static_cast<std::size_t>(rank.rank)];
      if (machine < 0) continue;
      const auto m = static_cast<std::size_t>(machine);
      for (schedule::TraceRecord& r : rank.records)
        for (std::int64_t* const time : {&r.ready_ns, &r.begin_ns, &r.end_ns})
          if (*time != 0) *time = on_rank_0(*time, start[m], end[m]);
    }
    for (std::size_t m = 0; m < end.size() && say; ++m)
      say(fmt::format("the clock of rank {}'s machine is known to {:.1f} us; transfers with it are told from waiting no better",
                      others[m], 1e-3 * static_cast<double>(std::max(start[m].uncertainty, end[m].uncertainty))));
  }
};

namespace {

void say(const std::string& message) {
  std::fputs(message.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace

MpiRun::MpiRun(std::unique_ptr<MpiWorld> world, const Launcher& launcher) : world_(std::move(world)), launcher_(launcher) {
  try {
    const std::vector<Greeting> greetings = greet(*world_);
    shared_ = std::make_unique<Shared>(*world_, greetings);
    clocks_ = std::make_unique<Clocks>(*world_, greetings);
    job_word_ = fmt::format("{:016x}", greetings.front().word);
    if (rank() == 0 && launcher_.is_below_orrery()) say(kRanksStarted);
  } catch (const std::exception& error) {  // said here, since the world's end ends the process
    say(fmt::format("error: rank {}: {}\n", world_->rank(), error.what()));
    world_->abort(3);
  }
}
MpiRun::~MpiRun() = default;

int MpiRun::rank() const { return world_->rank(); }
int MpiRun::size() const { return world_->size(); }

std::vector<std::int64_t> MpiRun::ranks_here() const {
  std::vector<std::int64_t> ranks;
  for (std::size_t r = 0; r < shared_->board.size(); ++r)
    if (shared_->board[r] != nullptr) ranks.push_back(static_cast<std::int64_t>(r));
  return ranks;
}

std::string MpiRun::ranks_are() const {
  const std::size_t machines = 1 + clocks_->others.size();
  return machines == 1 ? "ranks are processes" : fmt::format("ranks are processes on {} machines", machines);
}

void MpiRun::end_job(const std::string& message, int exit_code) {
  if (shared_->may_speak()) say(message);
  world_->abort(exit_code);
}

namespace {

schedule::Trace own_trace(const RunJob& job, const RankRun& run, const std::string& ranks_are) {
  schedule::Trace trace = empty_trace(job, ranks_are);
  trace.ranks.push_back(run.trace());
  const auto& records = trace.ranks.front().records;
  if (!records.empty()) {
    trace.first_step = records.front().step;
    trace.steps = records.back().step + 1 - trace.first_step;
  }
  trace.losses = run.losses();
  trace.complete = false;
  return trace;
}

// The message has been said, and a part that cannot be written too is no second one.
void write_part(const std::string& part_name, const RunJob& job, const RankRun& run, int rank, const std::string& ranks_are) {
  if (part_name.empty()) return;
  try {
    const schedule::Trace trace = own_trace(job, run, ranks_are);
    if (!trace.ranks.front().records.empty())
      schedule::write_trace(fmt::format("{}.rank-{}.part", part_name, rank), trace);
  } catch (const std::exception&) {
  }
}

// Every rank's trace as text, in one all_gather of equal parts; only rank 0 reads them.
std::vector<schedule::RankTrace> gather_traces(Executor& executor, const schedule::Trace& own, int size) {
  std::string text = schedule::trace_text(own);
  std::vector<std::uint64_t> lengths(static_cast<std::size_t>(size), text.size());
  if (size > 1) {
    std::uint64_t length = text.size();
    executor.complete(gather_call(reinterpret_cast<std::byte*>(&length), reinterpret_cast<std::byte*>(lengths.data()),
                                  sizeof length, size, "lengths of traces"));
  }
  const std::uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
  text.resize(longest);
  std::string all(longest * static_cast<std::size_t>(size), '\0');
  if (size == 1) all = text;
  else
    executor.complete(gather_call(reinterpret_cast<std::byte*>(text.data()), reinterpret_cast<std::byte*>(all.data()),
                                  static_cast<std::int64_t>(longest), size, "traces"));
  std::vector<schedule::RankTrace> ranks;
  for (std::size_t r = 0; executor.rank() == 0 && r < lengths.size(); ++r) {
    Diagnostics diagnostics;
    const auto source = std::make_shared<SourceFile>(SourceFile{fmt::format("rank {}'s trace", r), all.substr(r * longest, lengths[r])});
    schedule::Trace trace = schedule::parse_trace(source, diagnostics);
    diagnostics.throw_if_errors();
    for (schedule::RankTrace& rank : trace.ranks) ranks.push_back(std::move(rank));
  }
  return ranks;
}

}  // namespace

void MpiRun::end_run(const RunJob& job, const RankRun& run, const std::string& part_name, const std::string& message) {
  if (shared_->may_speak()) say(fmt::format("error: {}\n", message));
  write_part(part_name, job, run, rank(), ranks_are());
  if (!launcher_.who_is_gone().empty()) std::_Exit(3);  // MPI's abort would wait for the launcher
  world_->abort(3);
}

RunResult MpiRun::run(const RunJob& job, StopSign& stop, const StallLimits& limits, const RankHooks& hooks,
                      const std::string& part_name) {
  BoardSlot& slot = *shared_->board[static_cast<std::size_t>(rank())];
  RankRun rank_run(job, *world_, slot, stop, hooks);
  const auto leave = [&](const std::string& message) { end_run(job, rank_run, part_name, message); };
  RunResult result;
  try {
    const Watch watch(*job.schedule, shared_->board,
                      {limits.no_progress_s, launcher_.patience_s(), [this] { return launcher_.who_is_gone(); }}, stop, leave);
    rank_run.run();
    const schedule::Trace own = own_trace(job, rank_run, ranks_are());
    std::vector<schedule::RankTrace> ranks = gather_traces(rank_run.executor(), own, size());
    clocks_->finish(ranks, hooks.say);
    slot.state.store(RankState::finished);
    result.trace = own;
    result.stopped = rank_run.executor().stopped_early();
    if (rank() == 0) merge_ranks(job, std::move(ranks), own.losses, result.trace);
  } catch (const InputError& error) {
    end_job(error.what(), 2);
  } catch (const Stopped&) {
    try {
      if (stop.error()) std::rethrow_exception(stop.error());
    } catch (const std::exception& error) {
      leave(fmt::format("rank {}: {}", rank(), error.what()));
    }
    leave(fmt::format("rank {} was stopped", rank()));
  } catch (const std::exception& error) {
    leave(fmt::format("rank {}: {}", rank(), error.what()));
  }
  return result;
}

}  // namespace orrery::runtime
