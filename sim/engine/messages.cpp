// Walks every op of every distinct program once: cost is the size of the Schedule, whatever the number of
// ranks.
#include "sim/engine/messages.h"

#include <algorithm>

#include "base/check.h"
#include "schedule/kernel_work.h"

namespace orrery::sim::engine {
namespace {

using schedule::Group;
using schedule::Op;
using schedule::OpKind;
using schedule::Schedule;

template <typename T>
std::size_t index_of_or_append(std::vector<T>& list, const T& item) {
  const auto at = std::find(list.begin(), list.end(), item);
  if (at != list.end()) return static_cast<std::size_t>(at - list.begin());
  list.push_back(item);
  return list.size() - 1;
}

Relation relation_for(const Schedule& schedule, const Op& op) {
  CHECK(op.group < schedule.groups.size(), op.group, schedule.groups.size());
  Relation relation{.group = op.group};
  if (!schedule::is_point_to_point(op.kind)) return relation;
  const std::int64_t size = schedule.groups[op.group].size;
  const std::int64_t offset = op.kind == OpKind::send ? op.peer : -op.peer;
  relation.point_to_point = true;
  relation.offset = ((offset % size) + size) % size;
  return relation;
}

Side side_of(OpKind kind) {
  if (kind == OpKind::send) return Side::sender;
  return kind == OpKind::recv ? Side::receiver : Side::member;
}

}  // namespace

Messages collect_messages(const Schedule& schedule) {
  Messages all;
  for (const schedule::Program& program : schedule.programs) {
    std::vector<Port> ports;
    std::vector<std::uint16_t> port_of_op;
    for (const Op& op : program.ops) {
      if (!schedule::is_communication(op.kind)) {
        port_of_op.push_back(kNoPort);
        continue;
      }
      const std::size_t relation = index_of_or_append(all.relations, relation_for(schedule, op));
      const bool tagged = schedule::is_point_to_point(op.kind);
      const std::size_t channel =
          index_of_or_append(all.channels, Channel{.relation = static_cast<std::uint32_t>(relation),
                                                   .site = tagged ? op.site : std::uint8_t{0}});
      const OpKind kind = op.kind == OpKind::recv ? OpKind::send : op.kind;
      const std::size_t message =
          index_of_or_append(all.messages, Message{.kind = kind,
                                                   .channel = static_cast<std::uint32_t>(channel),
                                                   .bytes = schedule::message_bytes(program, op),
                                                   .exchange = schedule::is_by_node(schedule, op) ? op.shape + 1 : 0});
      const Port port{.message = static_cast<std::uint32_t>(message), .side = side_of(op.kind)};
      port_of_op.push_back(static_cast<std::uint16_t>(index_of_or_append(ports, port)));
    }
    CHECK(ports.size() < kNoPort, ports.size());
    std::vector<RelationUse> uses;
    for (const Port& port : ports)
      index_of_or_append(uses, RelationUse{.relation = all.relation_of(port.message), .side = port.side});
    all.uses.push_back(std::move(uses));
    all.ports.push_back(std::move(ports));
    all.port_of_op.push_back(std::move(port_of_op));
  }
  return all;
}

std::int64_t instance_of(const Schedule& schedule, const Relation& relation, std::int64_t rank, Side side) {
  const Group& group = schedule.groups[relation.group];
  if (side == Side::member) return group.first(rank);
  if (side == Side::sender) return rank;
  return group.member(rank, (group.index(rank) - relation.offset + group.size) % group.size);
}

void members_of(const Schedule& schedule, const Relation& relation, std::int64_t instance,
                std::vector<std::int64_t>& members) {
  const Group& group = schedule.groups[relation.group];
  members.clear();
  if (relation.point_to_point) {
    const std::int64_t receiver = (group.index(instance) + relation.offset) % group.size;
    members = {instance, group.member(instance, receiver)};
  } else {
    for (std::int64_t i = 0; i < group.size; ++i) members.push_back(group.member(instance, i));
  }
  for (const std::int64_t member : members) CHECK(member >= 0 && member < schedule.world, member, group.name);
}

}  // namespace orrery::sim::engine
