// All calls of a block allocate and free the same bytes in the same order, because the instances of a buffer
// are equal. So a block is summed up once (net change, highest point of each phase), a repeat's iteration is
// the sum of its calls, and iteration i starts at `start + i * net`: the highest point of a loop is in its
// first or its last iteration, and no loop is unrolled. Cost: O(ops + calls). Rests on a schedule that
// verify() found sound.
#include "schedule/memory.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace orrery::schedule {
namespace {

std::int64_t rounded(const Buffer& buffer) {
  return (buffer.bytes().count() + kAllocationGrain - 1) / kAllocationGrain * kAllocationGrain;
}

struct Live {
  std::int64_t device = 0, host = 0;
  void add(const Buffer& buffer, std::int64_t instances) {
    (buffer.on_host ? host : device) += instances * rounded(buffer);
  }
  Live plus(const Live& change, std::int64_t times) const {
    return {device + times * change.device, host + times * change.host};
  }
};

Live persistent_bytes(const Program& program) {
  Live live;
  for (const Buffer& buffer : program.buffers)
    if (buffer.persistent) live.add(buffer, buffer.instances);
  return live;
}

// Highest points within a block, relative to the live bytes at its start.
struct BlockSummary {
  Live net;
  std::int64_t host_top = 0;
  std::array<std::optional<std::int64_t>, kPhases> top{};  // device; none: no op of that phase
  std::array<std::uint32_t, kPhases> top_op{};
};

BlockSummary summarise(const Program& program, const Block& block) {
  BlockSummary s;
  for (std::uint32_t i = 0; i < block.op_count; ++i) {
    const Op& op = program.ops[block.first_op + i];
    for (const View& view : program.views_of(op))
      if (view.allocates) s.net.add(program.buffer(block, view), 1);
    const auto phase = static_cast<std::size_t>(op.phase);
    s.host_top = std::max(s.host_top, s.net.host);
    if (!s.top[phase] || s.net.device > *s.top[phase]) {
      s.top[phase] = s.net.device;
      s.top_op[phase] = i;
    }
    for (const View& view : program.views_of(op))
      if (view.frees) s.net.add(program.buffer(block, view), -1);
  }
  return s;
}

// Where the peak is: a call, an iteration of its repeat, an op of its block.
struct Point {
  std::uint32_t call = 0, iteration = 0, op = 0;
};

class PeakWalk {
 public:
  explicit PeakWalk(const Program& program) : program_(program), live_(persistent_bytes(program)) {
    for (const Block& block : program.blocks) summaries_.push_back(summarise(program, block));
    peak_.peak = Bytes(live_.device);
    peak_.host_peak = Bytes(live_.host);
    peak_.peak_of_phase[static_cast<std::size_t>(Phase::setup)] = peak_.peak;
  }

  MemoryPeak run() {
    std::uint32_t next = 0;
    for (const Repeat& repeat : program_.repeats) {
      for (; next < repeat.first_call; ++next) visit(next, 0);
      walk(repeat);
      next = repeat.first_call + repeat.call_count;
    }
    for (; next < program_.calls.size(); ++next) visit(next, 0);
    itemise();
    return std::move(peak_);
  }

 private:
  void walk(const Repeat& repeat) {
    if (repeat.count == 0) return;
    const Live start = live_;
    const auto iteration = [&](std::uint32_t i) {
      for (std::uint32_t c = 0; c < repeat.call_count; ++c) visit(repeat.first_call + c, i);
    };
    iteration(0);
    if (repeat.count == 1) return;
    const Live net = live_.plus(start, -1);
    live_ = start.plus(net, std::int64_t{repeat.count} - 1);
    iteration(repeat.count - 1);
  }

  void visit(std::uint32_t call, std::uint32_t iteration) {
    const BlockSummary& s = summaries_[program_.calls[call].block.index()];
    peak_.host_peak = std::max(peak_.host_peak, Bytes(live_.host + s.host_top));
    for (std::size_t phase = 0; phase < kPhases; ++phase) {
      if (!s.top[phase]) continue;
      const Bytes top(live_.device + *s.top[phase]);
      peak_.peak_of_phase[phase] = std::max(peak_.peak_of_phase[phase], top);
      if (top <= peak_.peak && (at_ || top < peak_.peak)) continue;
      peak_.peak = top;
      peak_.phase = static_cast<Phase>(phase);
      at_ = Point{call, iteration, s.top_op[phase]};
    }
    live_ = live_.plus(s.net, 1);
  }

  // Live instances of every buffer at the peak: the same walk, counting instances, up to that point.
  void itemise() {
    std::vector<std::int64_t> live(program_.buffers.size(), 0);
    for (std::size_t b = 0; b < live.size(); ++b)
      if (program_.buffers[b].persistent) live[b] = program_.buffers[b].instances;
    if (at_) {
      count_until(*at_, live);
      const Call& call = program_.calls[at_->call];
      peak_.block = program_.block(call).name;
      peak_.microbatch = call.microbatch + at_->iteration * call.microbatch_step;
    }
    for (std::size_t b = 0; b < live.size(); ++b) {
      const Buffer& buffer = program_.buffers[b];
      const Bytes bytes(live[b] * rounded(buffer));
      if (buffer.on_host || bytes == Bytes()) continue;
      peak_.by_kind[static_cast<std::size_t>(buffer.kind)] += bytes;
      peak_.items.push_back({buffer.name, buffer.kind, bytes});
    }
    std::stable_sort(peak_.items.begin(), peak_.items.end(),
                     [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  }

  void count_until(const Point& at, std::vector<std::int64_t>& live) const {
    std::vector<std::int64_t> times(program_.blocks.size(), 0);  // whole calls of each block before the peak
    for (std::uint32_t c = 0; c < program_.calls.size(); ++c) {
      const Repeat* repeat = repeat_of(c);
      const bool before =
          repeat != nullptr ? repeat->first_call + repeat->call_count <= at.call : c < at.call;
      std::int64_t runs = 0;
      if (before)
        runs = repeat != nullptr ? repeat->count : 1;
      else if (repeat != nullptr && repeat == repeat_of(at.call))
        runs = std::int64_t{at.iteration} + (c < at.call ? 1 : 0);
      times[program_.calls[c].block.index()] += runs;
    }
    for (std::size_t b = 0; b < program_.blocks.size(); ++b)
      for (std::uint32_t i = 0; times[b] != 0 && i < program_.blocks[b].op_count; ++i)
        count_op(program_.blocks[b], i, times[b], true, live);
    const Block& last = program_.block(program_.calls[at.call]);
    for (std::uint32_t i = 0; i <= at.op; ++i) count_op(last, i, 1, i < at.op, live);
  }

  void count_op(const Block& block, std::uint32_t at, std::int64_t times, bool ended,
                std::vector<std::int64_t>& live) const {
    for (const View& view : program_.views_of(program_.ops[block.first_op + at])) {
      const std::size_t buffer = program_.formals_of(block)[view.formal].buffer.index();
      if (view.allocates) live[buffer] += times;
      if (view.frees && ended) live[buffer] -= times;
    }
  }

  const Repeat* repeat_of(std::uint32_t call) const {
    const auto next = std::upper_bound(program_.repeats.begin(), program_.repeats.end(), call,
                                       [](std::uint32_t c, const Repeat& r) { return c < r.first_call; });
    if (next == program_.repeats.begin()) return nullptr;
    const Repeat& r = *std::prev(next);
    return call < r.first_call + r.call_count ? &r : nullptr;
  }

  const Program& program_;
  std::vector<BlockSummary> summaries_;
  Live live_;
  MemoryPeak peak_;
  std::optional<Point> at_;  // none: the peak is the persistent buffers, before the first op
};

}  // namespace

MemoryPeak memory_peak(const Program& program) { return PeakWalk(program).run(); }

std::vector<MemoryStep> memory_timeline(const Program& program, std::uint32_t repeat_limit) {
  std::vector<MemoryStep> steps;
  std::int64_t live = persistent_bytes(program).device;
  std::uint32_t host_index = 0;
  steps.push_back({host_index, live});
  const auto change = [&](const Block& block, const View& view, std::int64_t sign) {
    const Buffer& buffer = program.buffer(block, view);
    return buffer.on_host ? 0 : sign * rounded(buffer);
  };
  const auto move_to = [&](std::int64_t bytes) {
    if (bytes == live) return;
    live = bytes;
    steps.push_back({host_index, live});
  };
  for_each_call(program, repeat_limit, [&](const Call& call, std::uint32_t, std::uint32_t) {
    const Block& block = program.block(call);
    for (const Op& op : program.ops_of(block)) {
      std::int64_t before = live, after = 0;
      for (const View& view : program.views_of(op)) {
        if (view.allocates) before += change(block, view, 1);
        if (view.frees) after += change(block, view, -1);
      }
      move_to(before);
      move_to(live + after);
      ++host_index;
    }
  });
  return steps;
}

}  // namespace orrery::schedule
