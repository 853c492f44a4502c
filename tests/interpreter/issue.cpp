#include "tests/interpreter/issue.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <utility>

#include "base/check.h"

namespace orrery::interpreter {
namespace {

using schedule::Call;
using schedule::Formal;
using schedule::Op;
using schedule::Program;
using schedule::Schedule;
using schedule::Stream;
using schedule::View;

class Issuer {
 public:
  Issuer(const Schedule& schedule, std::int64_t rank, RankMemory& memory)
      : schedule_(schedule), program_(schedule.program_of(rank)), memory_(memory) {
    issue_.rank = rank;
  }

  void step(std::int64_t step) {
    schedule::for_each_call(program_, std::numeric_limits<std::uint32_t>::max(),
                            [&](const Call& call, std::uint32_t microbatch, std::uint32_t) {
                              for (std::uint32_t i = 0; i < program_.block(call).op_count; ++i)
                                issue_op(call, microbatch, i, step);
                            });
  }

  RankIssue take() {
    for (const bool open : open_run_)
      if (open) throw ScheduleError(fmt::format("rank {}: a grouped run has no end", issue_.rank));
    return std::move(issue_);
  }

 private:
  using Instance = std::pair<std::uint32_t, std::uint32_t>;  // buffer, instance

  Instance instance(const Call& call, std::uint32_t microbatch, std::uint16_t formal) const {
    const schedule::Block& block = program_.block(call);
    CHECK(formal < block.formal_count, block.name, formal);
    const Formal& f = program_.formals_of(block)[formal];
    return {f.buffer.value, program_.instance(f, call, microbatch)};
  }

  std::int64_t offset(const Op& op, const View& view, const Allocation& allocation) const {
    std::int64_t offset = view.offset;
    if (view.shard_stride != 0) {
      CHECK(schedule::shard_group(op) < schedule_.groups.size(), "a sharded view needs a group");
      offset += schedule_.groups[schedule::shard_group(op)].index(issue_.rank) * view.shard_stride;
    }
    if (view.count() == 0) return offset;
    const std::int64_t last = offset + (view.rows - 1) * view.row_stride + view.columns;
    const bool sound = view.rows > 0 && view.columns > 0 && (view.rows == 1 || view.row_stride >= view.columns);
    if (offset < 0 || last > allocation.elements() || !sound)
      throw ScheduleError(fmt::format("{}: view [{} x {}, stride {}] at {} leaves its {} elements", allocation.label(),
                                      view.rows, view.columns, view.row_stride, offset, allocation.elements()));
    return offset;
  }

  void bind_views(IssuedOp& issued, const Call& call) {
    for (const View& view : program_.views_of(*issued.op)) {
      const auto [buffer, at] = instance(call, issued.microbatch, view.formal);
      if (view.allocates) memory_.allocate(BufferId(buffer), at);
      Allocation& allocation = memory_.current(BufferId(buffer), at);
      issued.views.push_back({&view, &allocation, offset(*issued.op, view, allocation), program_.buffers[buffer].extent});
    }
    for (const View& view : program_.views_of(*issued.op))
      if (view.frees) {
        const auto [buffer, at] = instance(call, issued.microbatch, view.formal);
        memory_.free(BufferId(buffer), at);
      }
  }

  void issue_op(const Call& call, std::uint32_t microbatch, std::uint32_t i, std::int64_t step) {
    const schedule::Block& block = program_.block(call);
    const Op& op = program_.ops_of(block)[i];
    IssuedOp issued{.op = &op, .block = &block, .unit = nullptr, .unit_index = call.unit, .microbatch = microbatch,
                    .ordinal_in_block = i, .step = step, .views = {}, .after = {}};
    if (call.unit < program_.units.size()) issued.unit = &program_.units[call.unit];
    const std::size_t at = issue_.ops.size();
    try {
      bind_views(issued, call);
    } catch (const ScheduleError& error) {
      issue_.ops.push_back(std::move(issued));
      throw ScheduleError(fmt::format("{}\n  issued by {}", error.what(), describe(issue_, at)));
    }
    for (const std::uint16_t formal : program_.waits_of(op))
      if (const auto found = recorded_.find(instance(call, microbatch, formal)); found != recorded_.end())
        issued.after.push_back(found->second);
    if (last_host_wait_) issued.after.push_back(*last_host_wait_);
    if (op.kind == schedule::OpKind::host_wait) last_host_wait_ = at;
    if (op.record != schedule::kNoFormal) recorded_[instance(call, microbatch, op.record)] = at;
    issue_.ops.push_back(std::move(issued));
    enqueue(op, at);
  }

  void enqueue(const Op& op, std::size_t at) {
    const auto stream = static_cast<std::size_t>(op.stream);
    if (!open_run_[stream]) issue_.streams[stream].emplace_back();
    issue_.streams[stream].back().ops.push_back(at);
    open_run_[stream] = op.grouped;
  }

  const Schedule& schedule_;
  const Program& program_;
  RankMemory& memory_;
  RankIssue issue_;
  std::map<Instance, std::size_t> recorded_;
  std::optional<std::size_t> last_host_wait_;
  std::array<bool, schedule::kStreams> open_run_{};
};

}  // namespace

RankIssue issue_all(const Schedule& schedule, std::int64_t rank, RankMemory& memory, std::int64_t steps) {
  Issuer issuer(schedule, rank, memory);
  for (std::int64_t step = 0; step < steps; ++step) issuer.step(step);
  return issuer.take();
}

std::string describe(const RankIssue& issue, std::size_t op) {
  const IssuedOp& o = issue.ops[op];
  return fmt::format("rank {} step {} {}(unit {}, microbatch {}) op {}: kind {} on stream {}", issue.rank, o.step,
                     o.block->name, o.unit_index, o.microbatch, o.ordinal_in_block, schedule::name(o.op->kind),
                     schedule::name(o.op->stream));
}

}  // namespace orrery::interpreter
