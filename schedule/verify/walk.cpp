// Unrolls programs with their loops cut (see verify/walk.h). An event is the last one recorded on the same
// buffer instance before the wait in host issue order, as cudaStreamWaitEvent captures it; one that was never
// recorded in this step does not hold anything up. Cost: linear in the walked ops.
#include "schedule/verify/walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "schedule/text/op.h"

namespace orrery::schedule {
namespace {

std::uint64_t last_microbatch(const Call& call, std::uint32_t count) {
  return call.microbatch + std::uint64_t{call.microbatch_step} * (count - 1);
}

// The microbatches that programs name: of plain calls, and the ends of repeats. Sorted, distinct.
std::vector<std::uint64_t> named_microbatches(const Schedule& schedule) {
  std::vector<std::uint64_t> named;
  for (const Program& p : schedule.programs) {
    for (const Call& call : p.calls) named.push_back(call.microbatch);
    for (const Repeat& r : p.repeats)
      for (std::uint32_t c = 0; c < r.call_count; ++c)
        named.push_back(last_microbatch(p.calls[r.first_call + c], r.count));
  }
  std::sort(named.begin(), named.end());
  named.erase(std::unique(named.begin(), named.end()), named.end());
  return named;
}

// The step of a repeat that runs across the gap (a, b); 0 when it does not; none when only some of its calls
// do, or with different steps.
std::optional<std::uint32_t> spanning_step(const Program& p, const Repeat& r, std::uint64_t a,
                                           std::uint64_t b) {
  std::optional<std::uint32_t> step;
  for (std::uint32_t c = 0; c < r.call_count; ++c) {
    const Call& call = p.calls[r.first_call + c];
    const bool spans = call.microbatch <= a && last_microbatch(call, r.count) >= b;
    const std::uint32_t own = spans ? call.microbatch_step : 0;
    if (step && *step != own) return std::nullopt;
    step = own;
  }
  return step.value_or(0);
}

// The most microbatches that can be left out between a and b; 0: none.
std::uint64_t largest_skip(const Schedule& schedule, std::uint64_t a, std::uint64_t b,
                           std::uint32_t repeat_limit) {
  constexpr std::uint64_t kLargestPeriod = 1U << 20;
  std::uint64_t skip = b - a - 1, period = 1;
  bool spanned = false;
  for (const Program& p : schedule.programs)
    for (const Repeat& r : p.repeats) {
      const auto step = spanning_step(p, r, a, b);
      if (!step) return 0;
      if (*step == 0) continue;
      spanned = true;
      const bool reuses = p.slots < static_cast<std::uint64_t>(schedule.microbatches);
      const std::uint64_t keep = std::max<std::uint64_t>({repeat_limit, reuses ? p.slots / *step + 2 : 0, 1});
      if (r.count <= keep) return 0;
      skip = std::min(skip, (r.count - keep) * *step);
      period = std::lcm(period, std::uint64_t{*step});
      if (period > kLargestPeriod) return 0;
    }
  return spanned ? skip / period * period : 0;
}

// Visits every walked call: visit(call index, microbatch, shown).
template <typename Visit>
void walk_calls(const Program& p, const Cut& cut, Visit&& visit) {
  const auto renumbered = [&](std::uint32_t m) { return m >= cut.resume_from ? m - cut.skip : m; };
  std::uint32_t next = 0;
  const auto plain_until = [&](std::uint32_t end) {
    for (; next < end; ++next) visit(next, renumbered(p.calls[next].microbatch), p.calls[next].microbatch);
  };
  for (const Repeat& r : p.repeats) {
    plain_until(r.first_call);
    next += r.call_count;
    const std::uint32_t step =
        cut.skip == 0 ? 0 : spanning_step(p, r, cut.keep_until, cut.resume_from).value_or(0);
    const std::uint32_t count = step == 0 ? r.count : r.count - cut.skip / step;
    for (std::uint32_t i = 0; i < count; ++i)
      for (std::uint32_t c = r.first_call; c < r.first_call + r.call_count; ++c) {
        const std::uint32_t m = p.calls[c].microbatch + i * p.calls[c].microbatch_step;
        visit(c, step == 0 ? renumbered(m) : m, m);
      }
  }
  plain_until(static_cast<std::uint32_t>(p.calls.size()));
}

class Walker {
 public:
  Walker(const Program& program, const Cut& cut) : p_(program), cut_(cut) {
    walk_.program = &program;
    std::uint64_t instances = 0;
    for (const Buffer& b : p_.buffers) {
      first_.push_back(instances);
      instances += b.instances;
    }
    if (instances <= kLargestTable) table_.assign(instances, kNoStep);
    walk_.steps.reserve(walked_ops(program, cut));
  }

  Walk run() {
    walk_calls(p_, cut_, [&](std::uint32_t call, std::uint32_t microbatch, std::uint32_t shown) {
      add_call(call, microbatch, shown);
    });
    return std::move(walk_);
  }

 private:
  void add_call(std::uint32_t index, std::uint32_t microbatch, std::uint32_t shown) {
    const Call& call = p_.calls[index];
    const Block& block = p_.block(call);
    const auto first_id = static_cast<std::uint32_t>(walk_.ids.size());
    for (const Formal& f : p_.formals_of(block))
      walk_.ids.push_back(dense(f.buffer, p_.instance(f, call, microbatch)));
    walk_.calls.push_back({index, microbatch, shown, first_id});
    for (std::uint32_t i = 0; i < block.op_count; ++i) add_step(block.first_op + i);
  }

  // A table where all instances fit into one, else a hash map: with many slots, few of them are met.
  std::uint32_t dense(BufferId buffer, std::uint32_t instance) {
    const std::uint64_t key = first_[buffer.index()] + instance;
    std::uint32_t& at = table_.empty() ? map_.emplace(key, kNoStep).first->second : table_[key];
    if (at == kNoStep) {
      at = static_cast<std::uint32_t>(walk_.instances.size());
      walk_.instances.push_back({buffer.value, instance});
      recorded_.push_back(kNoStep);
    }
    return at;
  }

  void add_step(std::uint32_t op_index) {
    const Op& op = p_.ops[op_index];
    const auto at = static_cast<std::uint32_t>(walk_.steps.size());
    Step step{.op = op_index, .call = static_cast<std::uint32_t>(walk_.calls.size() - 1), .gate = gate_};
    step.first_after = static_cast<std::uint32_t>(walk_.after.size());
    walk_.steps.push_back(step);
    for (const std::uint16_t wait : p_.waits_of(op))
      if (const std::uint32_t recorder = recorded_[walk_.id(at, wait)]; recorder != kNoStep)
        walk_.after.push_back(recorder);
    walk_.steps.back().after_count = static_cast<std::uint32_t>(walk_.after.size()) - step.first_after;
    if (op.record != kNoFormal) recorded_[walk_.id(at, op.record)] = at;
    if (op.kind == OpKind::host_wait) gate_ = at;
    walk_.streams[static_cast<std::size_t>(op.stream)].push_back(at);
  }

  const Program& p_;
  const Cut cut_;
  Walk walk_;
  static constexpr std::uint64_t kLargestTable = 1U << 18;
  std::vector<std::uint64_t> first_;  // instance of each buffer, counting all buffers' instances
  std::vector<std::uint32_t> table_;
  std::unordered_map<std::uint64_t, std::uint32_t> map_;
  std::vector<std::uint32_t> recorded_;  // the last step that recorded each instance's event
  std::uint32_t gate_ = kNoStep;
};

}  // namespace

Cut choose_cut(const Schedule& schedule, std::uint32_t repeat_limit) {
  const std::vector<std::uint64_t> named = named_microbatches(schedule);
  std::size_t widest = 0;
  for (std::size_t i = 1; i < named.size(); ++i)
    if (widest == 0 || named[i] - named[i - 1] > named[widest] - named[widest - 1]) widest = i;
  if (widest == 0) return {};
  const std::uint64_t a = named[widest - 1], b = named[widest];
  const std::uint64_t skip = largest_skip(schedule, a, b, repeat_limit);
  if (skip == 0) return {};
  return {static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(skip)};
}

std::uint64_t walked_ops(const Program& program, const Cut& cut) {
  std::uint64_t ops = 0, in_repeats = 0;
  for (const Call& call : program.calls) ops += program.block(call).op_count;
  for (const Repeat& r : program.repeats) {
    const std::uint32_t step =
        cut.skip == 0 ? 0 : spanning_step(program, r, cut.keep_until, cut.resume_from).value_or(0);
    const std::uint64_t count = step == 0 ? r.count : r.count - cut.skip / step;
    for (std::uint32_t c = 0; c < r.call_count; ++c)
      in_repeats += (count - 1) * program.block(program.calls[r.first_call + c]).op_count;
  }
  return ops + in_repeats;
}

Walk walk_program(const Program& program, const Cut& cut) { return Walker(program, cut).run(); }

std::string Walk::instance_text(std::uint32_t id) const {
  const InstanceName& n = instances[id];
  const Buffer& buffer = program->buffers[n.buffer];
  return buffer.instances == 1 ? as_name(buffer.name)
                               : fmt::format("{}[{}]", as_name(buffer.name), n.instance);
}

std::string Walk::describe(std::uint32_t step) const {
  const WalkedCall& c = call(step);
  const Call& named = program->calls[c.call];
  return fmt::format("{} ({}, unit {}, microbatch {})", name(op(step).kind),
                     as_name(program->block(named).name), named.unit, c.shown);
}

}  // namespace orrery::schedule
