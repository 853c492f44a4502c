// Latency and bandwidth of messages and collectives between ranks that are threads, by size and number of ranks, in the
// measures of nccl-tests (doc/PERFORMANCE.md): algbw = bytes / time, where bytes are those of the larger of x and y,
// and busbw = algbw x 2(n-1)/n for all_reduce, (n-1)/n for reduce_scatter and all_gather, 1 for send/recv: what would
// go over each rank's link. With more ranks than cores the ranks take turns, and both fall accordingly.
#include <benchmark/benchmark.h>

#include <thread>
#include <vector>

#include "base/check.h"
#include "runtime/comm/reduction.h"
#include "runtime/comm/thread_world.h"

namespace orrery::runtime {
namespace {

struct Rank {
  std::unique_ptr<World> world;
  std::unique_ptr<Communicator> communicator;
  std::vector<float> x, y;
  std::unique_ptr<Transfer> transfer;

  void perform(std::int64_t times, std::uint64_t& sequence) {
    for (std::int64_t i = 0; i < times; ++i) {
      transfer->start({&sequence, 1});
      ++sequence;
      for (;;) {
        const std::uint64_t heard = world->bell().heard();
        if (transfer->test()) break;
        world->bell().wait(heard);
      }
    }
  }
};

Piece whole(std::vector<float>& memory) {
  const auto count = static_cast<std::int64_t>(memory.size());
  return {reinterpret_cast<std::byte*>(memory.data()), 1, count, count};
}

// Of `bytes` in the larger of x and y; elements of 4 bytes of whichever type.
CommCall call_of(CommKind kind, Element element, std::int64_t bytes, Rank& rank, int n) {
  CommCall call;
  call.kind = kind;
  call.element = element;
  call.what = "benchmark";
  const auto count = static_cast<std::size_t>(bytes / 4), part = count / static_cast<std::size_t>(n);
  rank.x.assign(kind == CommKind::all_gather ? part : count, 1.0F);
  rank.y.assign(kind == CommKind::reduce_scatter ? part : count, 1.0F);
  if (kind == CommKind::send && rank.world->rank() == 1) call.kind = CommKind::recv;
  call.peer = 1 - rank.world->rank();
  const auto piece = [&](std::vector<float>& memory) {
    Piece p = whole(memory);
    p.columns = p.stride = p.columns * 4 / bytes_of(element);
    return p;
  };
  if (call.kind == CommKind::send || call.kind == CommKind::reduce_scatter || call.kind == CommKind::all_gather)
    call.x.push_back(piece(rank.x));
  if (call.kind != CommKind::send) call.y.push_back(piece(rank.y));
  return call;
}

double bus_factor(CommKind kind, int n) {
  if (kind == CommKind::send) return 1;
  return (kind == CommKind::all_reduce ? 2.0 : 1.0) * (n - 1) / n;
}

void measure(benchmark::State& state, CommKind kind, Element element) {
  const int n = static_cast<int>(state.range(0));
  const std::int64_t bytes = state.range(1);
  std::vector<std::unique_ptr<World>> worlds = make_thread_worlds(n);
  std::vector<Rank> ranks(static_cast<std::size_t>(n));
  std::vector<int> members;
  for (int r = 0; r < n; ++r) members.push_back(r);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    ranks[r].world = std::move(worlds[r]);
    ranks[r].communicator = ranks[r].world->communicator(members, "all");
    ranks[r].transfer = ranks[r].communicator->prepare({call_of(kind, element, bytes, ranks[r], n)});
  }
  const auto times = static_cast<std::int64_t>(state.max_iterations);
  std::vector<std::thread> others;
  for (std::size_t r = 1; r < ranks.size(); ++r)
    others.emplace_back([&ranks, r, times] {
      std::uint64_t sequence = 0;
      ranks[r].perform(times, sequence);
    });
  std::uint64_t sequence = 0;
  for (auto _ : state) ranks[0].perform(1, sequence);
  for (std::thread& other : others) other.join();
  const double moved = static_cast<double>(bytes) * static_cast<double>(state.iterations());
  state.counters["algbw"] = benchmark::Counter(moved, benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
  state.counters["busbw"] =
      benchmark::Counter(moved * bus_factor(kind, n), benchmark::Counter::kIsRate, benchmark::Counter::kIs1000);
}

// One thread's combination of `sources` ranges of `bytes` each: the arithmetic alone, by its CPU time.
void combine(benchmark::State& state, Element element) {
  const auto sources = static_cast<std::size_t>(state.range(0));
  const std::int64_t bytes = state.range(1), count = bytes / bytes_of(element);
  std::vector<std::vector<float>> memory(sources + 1, std::vector<float>(static_cast<std::size_t>(bytes / 4), 1.0F));
  std::vector<Piece> pieces;
  for (std::vector<float>& one : memory) pieces.push_back({reinterpret_cast<std::byte*>(one.data()), 1, count, count});
  std::vector<FlatCursor> from(sources);
  for (auto _ : state) {
    for (std::size_t i = 0; i < sources; ++i) from[i] = FlatCursor(std::span(&pieces[i], 1), {}, bytes_of(element));
    FlatCursor to(std::span(&pieces.back(), 1), {}, bytes_of(element));
    reduce_elements({element, CommReduce::sum, false}, from, to, count);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * bytes * static_cast<std::int64_t>(sources + 1));
}

void register_all() {
  for (const Element element : {Element::fp32, Element::fp64, Element::bf16, Element::fp16})
    benchmark::RegisterBenchmark(("combine/" + std::string(name_of(element))).c_str(),
                                 [=](benchmark::State& state) { combine(state, element); })
        ->ArgNames({"sources", "bytes"})
        ->ArgsProduct({{2, 4}, {64 << 10, 16 << 20}})
        ->Unit(benchmark::kMicrosecond);
  const auto add = [](const std::string& name, CommKind kind, Element element, const std::vector<std::int64_t>& ranks) {
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { measure(state, kind, element); })
        ->ArgNames({"ranks", "bytes"})
        ->ArgsProduct({ranks, {64, 4 << 10, 64 << 10, 1 << 20, 16 << 20}})
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  };
  add("send_recv/fp32", CommKind::send, Element::fp32, {2});
  for (const CommKind kind : {CommKind::all_reduce, CommKind::reduce_scatter, CommKind::all_gather})
    add(std::string(name_of(kind)) + "/fp32", kind, Element::fp32, {2, 4, 8});
  for (const Element element : {Element::bf16, Element::fp16, Element::fp64})
    add("reduce_scatter/" + std::string(name_of(element)), CommKind::reduce_scatter, element, {2});
}

}  // namespace
}  // namespace orrery::runtime

int main(int argc, char** argv) {
  orrery::runtime::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
