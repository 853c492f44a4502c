// See random_schedule.h.
#include "tests/sim/engine/random_schedule.h"

#include <random>

namespace orrery::sim::test {
namespace {

using schedule::OpKind;
using schedule::Stream;

class Writer {
 public:
  Writer(const RandomShape& shape, std::uint64_t seed)
      : shape_(shape), random_(seed), schedule_(empty_schedule(shape.grid)) {
    for (std::int64_t p = 0; p < shape.grid.pp; ++p) {
      builders_.emplace_back(schedule_, shape.slots);
      formals_.emplace_back();
    }
  }

  schedule::Schedule schedule() {
    for (ProgramBuilder& b : builders_) {
      std::vector<std::uint32_t> tokens;
      for (int i = 0; i < 5; ++i) tokens.push_back(b.token(shape_.slots));
      b.block("block");
      for (const std::uint32_t token : tokens)
        formals_[static_cast<std::size_t>(&b - builders_.data())].push_back(b.formal(token, 0, 1));
    }
    for (int i = 0; i < shape_.ops * static_cast<int>(builders_.size()); ++i) append_something();
    for (ProgramBuilder& b : builders_) {
      if (shape_.joined_steps || shape_.joined_iterations) join(b);
      if (shape_.joined_steps) b.call(1);
      b.repeat(shape_.joined_steps ? 1 : 0, shape_.joined_iterations ? 3 : 1, shape_.iterations);
      if (shape_.joined_iterations) b.call(1, 0, 1);
      b.call(0, 0, 1);
      if (shape_.joined_iterations) b.call(2, 0, 1);
      if (shape_.joined_steps) b.call(2);
    }
    schedule_.microbatches = shape_.iterations;
    return std::move(schedule_);
  }

 private:
  std::int64_t pick(std::int64_t below) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(below));
  }
  std::int64_t duration() { return pick(4) == 0 ? 0 : 50 * (1 + pick(20)); }

  void append_something() {
    const auto at = static_cast<std::size_t>(pick(shape_.grid.pp));
    switch (pick(10)) {
      case 0:
      case 1:
      case 2:
        kernel(at);
        break;
      case 3:
        events(at, builders_[at].copy(duration()));
        break;
      case 4:
        events(at, builders_[at].host_wait());
        break;
      case 5:
        collective(at, schedule::kTensor, Stream::tensor);
        break;
      case 6:
        collective(at, schedule::kData, pick(2) == 0 ? Stream::data : Stream::compute);
        break;
      case 7:
        pair();
        break;
      case 8:
        world();
        break;
      default:
        shape_.rings ? ring(at) : kernel(at);
        break;
    }
  }

  // Blocks 1 and 2: every stream waits for the last join, and the next join for every stream.
  void join(ProgramBuilder& b) {
    const Stream streams[] = {Stream::compute,
                              Stream::tensor,
                              Stream::data,
                              Stream::to_host,
                              Stream::pipe_send_forward,
                              Stream::pipe_send_backward,
                              Stream::pipe_recv_forward,
                              Stream::pipe_recv_backward};
    const std::uint32_t token = b.token(9);
    b.block("begin");
    const std::uint16_t end_before = b.formal(token, 8);
    for (const Stream s : streams) b.kernel(0).on(s).wait(end_before);
    b.block("end");
    for (std::uint32_t i = 0; i < 8; ++i) b.kernel(0).on(streams[i]).record(b.formal(token, i));
    b.message(OpKind::all_reduce, schedule::kWorld, 10, Stream::compute).record(b.formal(token, 8));
    for (std::uint16_t i = 1; i < 9; ++i) b.wait(i);
  }

  void kernel(std::size_t at) {
    const OpKind kind = pick(2) == 0 ? OpKind::gemm : OpKind::add;  // drawn first: arguments have no order
    builders_[at].kernel(duration(), kind);
    if (shape_.kernels_everywhere && pick(3) == 0) builders_[at].on(Stream::data);
    events(at, builders_[at]);
  }

  void collective(std::size_t at, std::uint8_t group, Stream stream) {
    events(at, builders_[at].message(OpKind::all_reduce, group, duration(), stream));
  }

  void world() {
    const std::int64_t bytes = duration();
    for (std::size_t at = 0; at < builders_.size(); ++at)
      events(at, builders_[at].message(OpKind::all_reduce, schedule::kWorld, bytes, Stream::data));
  }

  // A message between neighbouring stages, forwards or backwards.
  void pair() {
    if (builders_.size() < 2) return;
    const bool back = pick(2) == 0;
    auto from = static_cast<std::size_t>(pick(shape_.grid.pp - 1));
    auto to = from + 1;
    if (back) std::swap(from, to);
    const std::int64_t bytes = duration();
    events(from, builders_[from].send(back ? -1 : 1, bytes,
                                      back ? Stream::pipe_send_backward : Stream::pipe_send_forward, back));
    events(to, builders_[to].recv(back ? 1 : -1, bytes,
                                  back ? Stream::pipe_recv_backward : Stream::pipe_recv_forward, back));
  }

  // Every rank of the tensor group sends to the next one and receives from the one before, at once.
  void ring(std::size_t at) {
    const std::int64_t bytes = duration();
    events(at, builders_[at].send(1, bytes, Stream::tensor).in_group(schedule::kTensor).grouped());
    builders_[at].recv(-1, bytes, Stream::tensor).in_group(schedule::kTensor);
  }

  void events(std::size_t at, ProgramBuilder& b) {
    for (std::int64_t i = pick(3); i > 0; --i) b.wait(formals_[at][static_cast<std::size_t>(pick(5))]);
    if (pick(2) == 0) b.record(formals_[at][static_cast<std::size_t>(pick(5))]);
  }

  RandomShape shape_;
  std::mt19937_64 random_;
  schedule::Schedule schedule_;
  std::vector<ProgramBuilder> builders_;
  std::vector<std::vector<std::uint16_t>> formals_;
};

}  // namespace

schedule::Schedule random_schedule(const RandomShape& shape, std::uint64_t seed) {
  return Writer(shape, seed).schedule();
}

}  // namespace orrery::sim::test
