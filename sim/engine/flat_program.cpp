// Unrolls a program, splits it into streams, and resolves its waits in two walks in host issue order: the
// first learns where each event is recorded last in a step, the second what each wait refers to.
#include "sim/engine/flat_program.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <unordered_map>

#include "base/check.h"

namespace orrery::sim::engine {
namespace {

using schedule::Call;
using schedule::kStreams;
using schedule::Op;
using schedule::OpKind;
using schedule::Program;
using schedule::Schedule;

Work work_of(OpKind kind) {
  if (schedule::is_communication(kind)) return Work::message;
  if (schedule::is_copy(kind)) return Work::copy;
  if (kind == OpKind::host_wait) return Work::host_wait;
  if (kind == OpKind::cpu_adam) return Work::host_work;
  const bool attention = kind >= OpKind::attention_forward && kind <= OpKind::attention_scores;
  const bool products = kind >= OpKind::attention_context && kind <= OpKind::attention_dkey;
  return kind == OpKind::gemm || kind == OpKind::grouped_gemm || attention || products ? Work::bound_kernel : Work::kernel;
}

// An event belongs to one instance of a buffer.
using EventKey = std::uint64_t;
EventKey event_of(const Program& program, const Call& call, std::uint16_t formal, std::uint32_t microbatch) {
  const schedule::Formal& f = program.formals_of(program.block(call))[formal];
  return std::uint64_t{f.buffer.value} << 32 | program.instance(f, call, microbatch);
}

struct Recorded {
  std::uint32_t stream = 0;
  std::int32_t target = 0;
};
using Records = std::unordered_map<EventKey, Recorded>;

class Flattener {
 public:
  Flattener(const Program& program, const Messages& messages, std::size_t index, std::vector<IssuedOp> issued)
      : program_(program), messages_(messages), index_(index), issued_(std::move(issued)) {}

  FlatProgram flat() {
    CHECK(issued_.size() <= std::numeric_limits<std::int32_t>::max(), program_.name, issued_.size());
    for (const IssuedOp& op : issued_) ++flat_.length[stream_of(op)];
    for (std::size_t s = 1; s < kStreams; ++s) flat_.first[s] = flat_.first[s - 1] + flat_.length[s - 1];
    flat_.ops.resize(issued_.size());
    flat_.origins.resize(issued_.size());
    flat_.host_ops = static_cast<std::int32_t>(issued_.size());
    place_ops();
    join_runs();
    resolve_waits();
    mark_loop_ends();
    return std::move(flat_);
  }

 private:
  std::size_t stream_of(const IssuedOp& op) const {
    return static_cast<std::size_t>(program_.ops[op.op].stream);
  }
  std::size_t at(const IssuedOp& op) const { return flat_.first[stream_of(op)] + op.position; }

  void place_ops() {
    for (std::uint32_t host = 0; host < issued_.size(); ++host) {
      const IssuedOp& issued = issued_[host];
      const Op& op = program_.ops[issued.op];
      const Work work = work_of(op.kind);
      CHECK((work == Work::host_wait) == (op.stream == schedule::Stream::host), schedule::name(op.kind));
      CHECK(!op.grouped || work == Work::message, schedule::name(op.kind));
      flat_.ops[at(issued)] = {.host = static_cast<std::int32_t>(host),
                               .op = issued.op,
                               .port = messages_.port_of_op[index_][issued.op],
                               .work = work};
      flat_.origins[at(issued)] = {.host = host, .call = issued.call, .microbatch = issued.microbatch};
    }
  }

  void join_runs() {
    head_.resize(flat_.ops.size());
    for (std::size_t s = 0; s < kStreams; ++s) {
      const std::size_t end = flat_.first[s] + flat_.length[s];
      for (std::size_t head = flat_.first[s]; head < end;) {
        std::size_t last = head;
        while (last + 1 < end && program_.ops[flat_.ops[last].op].grouped) ++last;
        CHECK(last - head < 255, program_.name);
        CHECK(last == head || flat_.ops[last].work == Work::message, program_.name);
        flat_.ops[head].run = static_cast<std::uint16_t>(last - head + 1);
        flat_.ops[head].host = flat_.ops[last].host;
        for (std::size_t i = head; i <= last; ++i) head_[i] = static_cast<std::uint32_t>(head);
        head = last + 1;
      }
    }
  }

  void note_record(Records& records, const IssuedOp& issued) const {
    const Op& op = program_.ops[issued.op];
    if (op.record == schedule::kNoFormal) return;
    records[event_of(program_, program_.calls[issued.call], op.record, issued.microbatch)] = {
        .stream = static_cast<std::uint32_t>(op.stream),
        .target = static_cast<std::int32_t>(issued.position) + 1};
  }

  void resolve_waits() {
    Records last, now;
    for (const IssuedOp& issued : issued_) note_record(last, issued);
    constexpr std::int32_t kNever = std::numeric_limits<std::int32_t>::min();
    needed_.assign(flat_.ops.size(), {});
    for (const IssuedOp& issued : issued_) {
      for (const std::uint16_t formal : program_.waits_of(program_.ops[issued.op])) {
        const EventKey event = event_of(program_, program_.calls[issued.call], formal, issued.microbatch);
        if (const auto in_step = now.find(event); in_step != now.end()) {
          needed_[head_[at(issued)]].push_back({in_step->second.target, in_step->second.stream});
        } else if (const auto before = last.find(event); before != last.end()) {
          const std::uint32_t stream = before->second.stream;
          const auto length = static_cast<std::int32_t>(flat_.length[stream]);
          needed_[head_[at(issued)]].push_back({before->second.target - length, stream});
        }
      }
      note_record(now, issued);
    }
    for (std::size_t s = 0; s < kStreams; ++s) {
      std::array<std::int32_t, kStreams> known;
      known.fill(kNever);
      known[s] = std::numeric_limits<std::int32_t>::max();  // a stream never waits for itself
      for (std::size_t i = flat_.first[s]; i < flat_.first[s] + flat_.length[s]; ++i) keep_waits(i, known);
    }
  }

  // Keeps, per awaited stream, the latest target that the stream has not already waited for.
  void keep_waits(std::size_t i, std::array<std::int32_t, kStreams>& known) {
    FlatOp& op = flat_.ops[i];
    op.first_wait = static_cast<std::uint32_t>(flat_.waits.size());
    std::sort(needed_[i].begin(), needed_[i].end(), [](const Wait& a, const Wait& b) {
      return a.stream != b.stream ? a.stream < b.stream : a.target > b.target;
    });
    for (const Wait& wait : needed_[i]) {
      if (wait.target <= known[wait.stream]) continue;
      known[wait.stream] = wait.target;
      flat_.waits.push_back(wait);
      ++op.waits;
    }
  }

  void mark_loop_ends() {
    std::map<std::pair<std::uint32_t, std::size_t>, std::uint32_t> last;  // (repeat, stream) -> run
    for (const IssuedOp& issued : issued_)
      if (issued.loop > 0) last[{issued.loop, stream_of(issued)}] = head_[at(issued)];
    for (const auto& [key, run] : last) {
      CHECK(key.first <= std::numeric_limits<std::uint8_t>::max(), program_.name, key.first);
      flat_.ops[run].loop_end = static_cast<std::uint8_t>(key.first);
    }
  }

  const Program& program_;
  const Messages& messages_;
  std::size_t index_;
  std::vector<IssuedOp> issued_;
  std::vector<std::uint32_t> head_;  // where the run that an op belongs to begins
  std::vector<std::vector<Wait>> needed_;
  FlatProgram flat_;
};

}  // namespace

std::vector<FlatProgram> flatten(const Schedule& schedule, const Messages& messages, const Cut& cut,
                                 std::int64_t skip) {
  std::vector<FlatProgram> flats;
  for (std::size_t p = 0; p < schedule.programs.size(); ++p) {
    const Program& program = schedule.programs[p];
    flats.push_back(Flattener(program, messages, p, unroll(program, cut.repeats[p], skip)).flat());
  }
  return flats;
}

}  // namespace orrery::sim::engine
