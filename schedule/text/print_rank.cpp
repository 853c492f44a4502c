// Prints what one rank does, unrolled: groups and peers as ranks, instances and shards as numbers. For
// reading only. Cost: linear in the unrolled program.
#include <fmt/format.h>

#include <iterator>

#include "base/check.h"
#include "schedule/text.h"
#include "schedule/text/op.h"

namespace orrery::schedule {
namespace {

constexpr std::int64_t kListedMembers = 8;

std::string members_text(const Group& group, std::int64_t rank) {
  std::string text = "{";
  for (std::int64_t i = 0; i < group.size && i < kListedMembers; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : " ", group.member(rank, i));
  if (group.size > kListedMembers) text += fmt::format(" .. {}", group.member(rank, group.size - 1));
  return text + "}";
}

class RankPrinter {
 public:
  RankPrinter(const Schedule& schedule, std::int64_t rank)
      : s_(schedule), p_(schedule.program_of(rank)), rank_(rank) {}

  std::string run() {
    text_ = fmt::format("rank {}: program {}\n", rank_, as_name(p_.name));
    for_each_call(p_, 0xffffffffU, [&](const Call& call, std::uint32_t microbatch, std::uint32_t) {
      const Block& block = p_.block(call);
      put("-- {} unit {} microbatch {}\n", as_name(block.name), call.unit, microbatch);
      name_formals(block, call, microbatch);
      for (const Op& op : p_.ops_of(block)) print_op(block, op);
    });
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }

  void name_formals(const Block& block, const Call& call, std::uint32_t microbatch) {
    names_.clear();
    for (const Formal& f : p_.formals_of(block)) {
      const Buffer& b = p_.buffers[f.buffer.index()];
      names_.push_back(b.instances == 1
                           ? as_name(b.name)
                           : fmt::format("{}#{}", as_name(b.name), p_.instance(f, call, microbatch)));
    }
  }

  void print_op(const Block& block, const Op& op) {
    put("{:7} {:<18} {}", host_index_++, word_of(op.stream), word_of(op.kind));
    if (const std::string shape = shape_text(s_.shapes.at(op.shape)); !shape.empty()) put("({})", shape);
    for (View view : p_.views_of(op)) {
      if (view.shard_stride != 0 && shard_group(op) != kNoGroup)
        view.offset += s_.groups[shard_group(op)].index(rank_) * view.shard_stride;
      view.shard_stride = 0;
      put(" {}", view_text(view, p_.buffer(block, view), names_[view.formal]));
    }
    print_partners(op);
    if (op.site != 0) put(" site {}", op.site);
    if (op.grouped) put(" grouped");
    for (const std::uint16_t wait : p_.waits_of(op)) put(" wait({})", names_[wait]);
    if (op.record != kNoFormal) put(" record({})", names_[op.record]);
    text_ += '\n';
  }

  void print_partners(const Op& op) {
    if (op.group == kNoGroup) return;
    const Group& group = s_.groups[op.group];
    if (is_point_to_point(op.kind)) {
      const std::int64_t peer = ((group.index(rank_) + op.peer) % group.size + group.size) % group.size;
      put(" {} rank {}", op.kind == OpKind::send ? "to" : "from", group.member(rank_, peer));
    } else if (is_collective(op.kind)) {
      put(" in {}", members_text(group, rank_));
    }
  }

  const Schedule& s_;
  const Program& p_;
  std::int64_t rank_;
  std::string text_;
  std::vector<std::string> names_;
  std::uint64_t host_index_ = 0;
};

}  // namespace

std::string print_rank(const Schedule& schedule, std::int64_t rank) {
  CHECK(rank >= 0 && rank < schedule.world, rank, schedule.world);
  return RankPrinter(schedule, rank).run();
}

}  // namespace orrery::schedule
