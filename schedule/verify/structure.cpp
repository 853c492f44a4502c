// Checks stage by stage, and stops between stages when a later one would rest on what is wrong: the
// schedule's groups, then the ranges of each program, then its blocks, ops and views, then its calls. Cost:
// linear in the stored schedule.
#include "schedule/verify/structure.h"

#include <fmt/format.h>

#include <algorithm>

#include "schedule/text/op.h"
#include "schedule/verify/op_rules.h"

namespace orrery::schedule {
namespace {

constexpr std::int64_t kLargestSize =
    1'000'000'000'000'000;  // elements: products with a type's size stay in int64

class ProgramChecker {
 public:
  ProgramChecker(const Schedule& s, std::size_t index, Findings& findings)
      : s_(s), p_(s.programs[index]), index_(index), findings_(findings) {}

  // False: later checks cannot run.
  bool run() {
    if (!ranges() || !buffers()) return false;
    bool sound = true;
    for (std::size_t b = 0; b < p_.blocks.size(); ++b) sound = block(p_.blocks[b]) && sound;
    if (!sound) return false;
    return calls();
  }

 private:
  template <typename... Args>
  bool fail(std::size_t place, fmt::format_string<Args...> format, Args&&... args) {
    if (findings_.is_new("structure", index_, place))
      findings_.add(
          fmt::format("program {}: {}", as_name(p_.name), fmt::format(format, std::forward<Args>(args)...)));
    return false;
  }

  // Canonical layout: consecutive ranges without gaps.
  bool ranges() {
    std::uint64_t op = 0, formal = 0, view = 0, wait = 0, call = 0;
    for (const Block& b : p_.blocks) {
      if (b.first_op != op || b.first_formal != formal)
        return fail(0, "block {} breaks the layout", as_name(b.name));
      op += b.op_count;
      formal += b.formal_count;
    }
    if (op != p_.ops.size() || formal != p_.formals.size())
      return fail(0, "ops or formals outside of all blocks");
    for (const Op& o : p_.ops) {
      if (o.first_view != view || o.first_wait != wait)
        return fail(0, "views or waits of an op break the layout");
      view += o.view_count;
      wait += o.wait_count;
    }
    if (view != p_.views.size() || wait != p_.waits.size())
      return fail(0, "views or waits outside of all ops");
    for (const Repeat& r : p_.repeats) {
      if (r.first_call < call || std::uint64_t{r.first_call} + r.call_count > p_.calls.size() || r.count < 1)
        return fail(0, "repeats overlap, are empty or end behind the last call");
      call = std::uint64_t{r.first_call} + r.call_count;
    }
    return p_.slots >= 1 || fail(0, "slots is 0");
  }

  bool buffers() {
    bool sound = true;
    for (std::size_t b = 0; b < p_.buffers.size(); ++b)
      if (p_.buffers[b].elements < 0 || p_.buffers[b].elements > kLargestSize || p_.buffers[b].instances < 1)
        sound = fail(b, "buffer {} has a size out of range", as_name(p_.buffers[b].name));
    for (const Unit& u : p_.units) {
      if (u.shard_group >= s_.groups.size() && u.optimizer_shards > 1)
        sound = fail(0, "a unit is sharded over a group that is not there");
      for (const BufferRef& ref : {u.weights, u.gradients, u.master})
        if (ref.buffer.index() >= p_.buffers.size() ||
            ref.instance >= p_.buffers[ref.buffer.index()].instances)
          sound = fail(0, "a unit refers to a buffer or instance that is not there");
      const auto there = [&](std::uint8_t group) { return group == kNoGroup || group < s_.groups.size(); };
      if (!there(u.cut_group) || !there(u.expert_group)) sound = fail(0, "a unit is cut over a group that is not there");
      if (u.ordinal < 0) sound = fail(0, "a unit has an ordinal below 0");
    }
    for (const Formal& f : p_.formals)
      if (f.buffer.index() >= p_.buffers.size())
        sound = fail(0, "a formal refers to a buffer that is not there");
    return sound;
  }

  bool block(const Block& b) {
    bool sound = true;
    for (std::uint32_t i = b.first_op; i < b.first_op + b.op_count; ++i) sound = op(b, i) && sound;
    return sound;
  }

  bool op(const Block& b, std::uint32_t at) {
    const Op& o = p_.ops[at];
    if (static_cast<std::size_t>(o.kind) >= kOpKinds || static_cast<std::size_t>(o.stream) >= kStreams ||
        static_cast<std::size_t>(o.phase) >= kPhases || o.shape >= s_.shapes.size())
      return fail(at, "an op of block {} has a kind, stream, phase or shape out of range", as_name(b.name));
    bool sound = true;
    for (const std::uint16_t wait : p_.waits_of(o))
      if (wait >= b.formal_count)
        sound =
            fail(at, "{} of block {} waits for a formal that is not there", name(o.kind), as_name(b.name));
    if (o.record != kNoFormal && o.record >= b.formal_count)
      sound = fail(at, "{} of block {} records on a formal that is not there", name(o.kind), as_name(b.name));
    if ((o.group != kNoGroup && o.group >= s_.groups.size()) || (o.shards != kNoGroup && o.shards >= s_.groups.size()))
      return fail(at, "{} of block {} has a group that is not there", name(o.kind), as_name(b.name));
    for (const View& v : p_.views_of(o)) sound = view(b, o, v, at) && sound;
    if (!sound) return false;
    for (const std::string& broken : broken_rules(s_, p_, b, o)) {
      fail(at, "{} of block {} {}", name(o.kind), as_name(b.name), broken);
      sound = false;
    }
    return sound;
  }

  bool view(const Block& b, const Op& o, const View& v, std::uint32_t at) {
    if (v.formal >= b.formal_count || static_cast<std::size_t>(v.role) >= kRoles)
      return fail(at, "a view of {} in block {} has a formal or role that is not there", name(o.kind),
                  as_name(b.name));
    const Buffer& buffer = p_.buffer(b, v);
    const auto inside = [&](std::int64_t n) { return n >= 0 && n <= buffer.elements; };
    bool sound =
        inside(v.offset) && inside(v.rows) && inside(v.columns) && v.row_stride >= 0 && v.shard_stride >= 0;
    if (sound && v.rows > 0 && v.columns > 0) {
      const std::int64_t shards = v.shard_stride > 0 && shard_group(o) != kNoGroup ? s_.groups[shard_group(o)].size : 1;
      if (v.shard_stride > 0 && shard_group(o) == kNoGroup)
        return fail(at, "{} of block {} has a sharded view but no group", name(o.kind), as_name(b.name));
      const std::int64_t room = buffer.elements - v.offset - v.columns;  // divisions: no product can overflow
      sound =
          room >= 0 && (v.rows == 1 || (v.row_stride >= v.columns && v.row_stride <= room / (v.rows - 1)));
      const std::int64_t used = sound && v.rows > 1 ? (v.rows - 1) * v.row_stride : 0;
      sound = sound && (shards == 1 || v.shard_stride <= (room - used) / (shards - 1));
    }
    if (sound && buffer.persistent && (v.allocates || v.frees))
      return fail(at, "{} of block {} allocates or frees {}, which is persistent", name(o.kind),
                  as_name(b.name), as_name(buffer.name));
    return sound || fail(at, "the view {} of {} in block {} reaches outside of {}[{}]", name(v.role),
                         name(o.kind), as_name(b.name), as_name(buffer.name), buffer.elements);
  }

  bool calls() {
    bool sound = true;
    std::uint32_t next = 0;
    for (const Repeat& r : p_.repeats) {
      for (; next < r.first_call; ++next) sound = call(next, 1) && sound;
      for (; next < r.first_call + r.call_count; ++next) sound = call(next, r.count) && sound;
    }
    for (; next < p_.calls.size(); ++next) sound = call(next, 1) && sound;
    return sound;
  }

  bool call(std::uint32_t at, std::uint32_t count) {
    const Call& c = p_.calls[at];
    if (c.block.index() >= p_.blocks.size()) return fail(at, "call {} names a block that is not there", at);
    const std::string block = as_name(p_.block(c).name);
    if (!p_.units.empty() && c.unit >= p_.units.size())
      return fail(at, "call {} of {} is for unit {} of {}", at, block, c.unit, p_.units.size());
    const std::uint64_t last = c.microbatch + std::uint64_t{c.microbatch_step} * (count - 1);
    if (last >= static_cast<std::uint64_t>(s_.microbatches))
      return fail(at, "call {} of {} is for microbatch {} of {}", at, block, last, s_.microbatches);
    std::uint64_t slot = 0;  // the largest: residues repeat after at most `slots` iterations
    for (std::uint64_t i = 0; i < std::min(count, p_.slots); ++i)
      slot = std::max(slot, (c.microbatch + i * c.microbatch_step) % p_.slots);
    for (const Formal& f : p_.formals_of(p_.block(c))) {
      const std::uint64_t ordinal =
          c.unit < p_.units.size() ? static_cast<std::uint64_t>(p_.units[c.unit].ordinal) : 0;
      const std::uint64_t most = f.base + std::uint64_t{f.unit_stride} * c.unit + f.slot_stride * slot +
                                 f.ordinal_stride * ordinal;
      const Buffer& buffer = p_.buffers[f.buffer.index()];
      if (most >= buffer.instances)
        return fail(at, "call {} of {} (unit {}) binds {}[{}], which has {} instances", at, block, c.unit,
                    as_name(buffer.name), most, buffer.instances);
    }
    return true;
  }

  const Schedule& s_;
  const Program& p_;
  std::size_t index_;
  Findings& findings_;
};

bool check_groups(const Schedule& s, Findings& findings) {
  const auto sound = [&](const Group& g) {
    return g.stride >= 1 && g.size >= 1 && g.period >= 1 && g.step >= 1 && g.stride <= s.world &&
           g.size <= s.world && g.step <= s.world && g.period <= s.world && (g.size - 1) * g.step < g.period;
  };
  const std::size_t before = s.programs.size();
  bool all =
      s.world >= 1 && s.microbatches >= 1 && s.groups.size() > kEmbedding && s.groups.size() < kNoGroup;
  if (!all && findings.is_new("structure", before, 0))
    findings.add(
        "world, microbatches or the number of groups is out of range (the five standard groups come first)");
  for (std::size_t g = 0; g < s.groups.size(); ++g)
    if (!sound(s.groups[g])) {
      all = false;
      if (findings.is_new("structure", before, g + 1))
        findings.add(fmt::format("group {} does not fit into {} ranks", as_name(s.groups[g].name), s.world));
    }
  const Group& by = s.program_group;
  const auto programs = static_cast<std::int64_t>(s.programs.size());
  const bool fits = programs >= 1 && sound(by) && by.size == programs && by.period == programs &&
                    by.step == 1 && s.world % (by.stride * by.period) == 0;
  if (!fits && findings.is_new("structure", before, s.groups.size() + 1))
    findings.add(
        fmt::format("the group that picks a rank's program does not spread {} programs over {} ranks",
                    programs, s.world));
  return all && fits;
}

}  // namespace

void check_structure(const Schedule& schedule, Findings& findings) {
  if (!check_groups(schedule, findings)) return;
  for (std::size_t p = 0; p < schedule.programs.size(); ++p) ProgramChecker(schedule, p, findings).run();
}

}  // namespace orrery::schedule
