#include "runtime/run/mpi_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>
#include <thread>

#include "base/check.h"
#include "base/diagnostics.h"
#include "base/random.h"
#include "runtime/comm/mpi_world.h"
#include "runtime/run/watch.h"
#include "schedule/trace_file.h"

namespace orrery::runtime {
namespace {

struct Greeting {
  std::uint64_t machine = 0;  // of its host name
  std::uint64_t word = 0;     // rank 0's names the job's shared memory
};

std::uint64_t machine_word() {
  char name[256] = {};
  ::gethostname(name, sizeof name - 1);
  std::uint64_t hash = 0;
  for (const char* c = name; *c != 0; ++c) hash = mix_bits((hash ^ static_cast<unsigned char>(*c)) + 0x9E3779B97F4A7C15ULL);
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
  std::vector<int> ranks;
  for (int r = 0; r < world.size(); ++r) ranks.push_back(r);
  Greeting own{machine_word(), mix_bits(static_cast<std::uint64_t>(::getpid()) ^ static_cast<std::uint64_t>(now_ns()))};
  std::vector<Greeting> all(size, own);
  if (size == 1) return all;
  const auto communicator = world.communicator(ranks, "start");
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
    const int file = ::shm_open(name.c_str(), O_CREAT | O_RDWR, 0600);
    if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0)
      throw WorldError(fmt::format("shared memory {}: {}", name, std::strerror(errno)));
    mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    ::close(file);
    if (mapped == MAP_FAILED) throw WorldError(fmt::format("shared memory {}: {}", name, std::strerror(errno)));
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
};

MpiRun::MpiRun(int& argc, char**& argv) : world_(make_mpi_world(argc, argv)) {
  const std::vector<Greeting> greetings = greet(*world_);
  shared_ = std::make_unique<Shared>(*world_, greetings);
  job_word_ = fmt::format("{:016x}", greetings.front().word);
}
MpiRun::~MpiRun() = default;

int MpiRun::rank() const { return world_->rank(); }
int MpiRun::size() const { return world_->size(); }

void MpiRun::end_job(const std::string& message, int exit_code) {
  if (shared_->may_speak()) {
    std::fputs(message.c_str(), stderr);
    std::fflush(stderr);
  }
  abort_mpi(exit_code);
}

namespace {

schedule::Trace own_trace(const RunJob& job, const RankRun& run) {
  std::vector<schedule::RankTrace> ranks;
  ranks.push_back(run.trace());
  const Executor* const executor = run.executor();
  schedule::Trace trace;
  trace.fingerprint = job.fingerprint;
  trace.scenario = job.schedule->name;
  trace.world = job.schedule->world;
  const auto& records = ranks.front().records;
  if (!records.empty()) {
    trace.first_step = records.front().step;
    trace.steps = records.back().step + 1 - trace.first_step;
  }
  trace.origin = job.options.emulate != nullptr ? schedule::TraceOrigin::emulated : schedule::TraceOrigin::measured;
  if (executor != nullptr) trace.losses = executor->losses();
  trace.complete = false;
  trace.ranks = std::move(ranks);
  return trace;
}

// Every rank's trace as text, in one all_gather of equal parts. Clocks of one machine are one clock (CLOCK_MONOTONIC).
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
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    Diagnostics diagnostics;
    const auto source = std::make_shared<SourceFile>(SourceFile{fmt::format("rank {}'s trace", r), all.substr(r * longest, lengths[r])});
    schedule::Trace trace = schedule::parse_trace(source, diagnostics);
    diagnostics.throw_if_errors();
    for (schedule::RankTrace& rank : trace.ranks) ranks.push_back(std::move(rank));
  }
  return ranks;
}

}  // namespace

RunResult MpiRun::run(const RunJob& job, StopSign& stop, const StallLimits& limits, const RankHooks& hooks,
                      const std::string& part_name) {
  RankRun rank_run(job, *world_, *shared_->board[static_cast<std::size_t>(rank())], stop, hooks);
  const auto leave = [&](const std::string& message) {
    if (!part_name.empty() && !rank_run.trace().records.empty())
      schedule::write_trace(fmt::format("{}.rank-{}.part", part_name, rank()), own_trace(job, rank_run));
    end_job(fmt::format("error: {}\n", message), 3);
  };
  RunResult result;
  try {
    // mpirun kills a second after it has asked.
    const Watch watch(*job.schedule, shared_->board, {limits.no_progress_s, 0.6}, stop, leave);
    rank_run.run();
    std::vector<schedule::RankTrace> ranks =
        gather_traces(*rank_run.executor(), own_trace(job, rank_run), size());
    result.trace = merge_traces(job, std::move(ranks), rank_run.executor()->losses());
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
