// Which communications a Schedule has, before anybody is simulated: relations (who meets whom), channels (by
// which tag), messages (what is sent through them) and ports (a program's use of a message).
//
// A channel matches its messages in host issue order: the n-th one that a member issues meets the n-th of
// every other member. Collectives: one channel a group, as NCCL matches calls on a communicator. Send and
// receive: one channel per (group, tag, offset from sender to receiver), so messages of two kinds between the
// same two ranks never mix.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "schedule/ir.h"

namespace orrery::sim::engine {

inline constexpr std::uint16_t kNoPort = 0xffff;

struct Relation {
  bool point_to_point = false;
  std::uint8_t group = 0;
  std::int64_t offset = 0;  // receiver's index - sender's index, modulo the group's size
  bool operator==(const Relation&) const = default;
};

struct Channel {
  std::uint32_t relation = 0;
  std::uint8_t site = 0;  // tag of point-to-point messages
  bool operator==(const Channel&) const = default;
};

enum class Side : std::uint8_t { member, sender, receiver };

struct Message {
  schedule::OpKind kind = schedule::OpKind::all_reduce;  // send stands for both of its sides
  std::uint32_t channel = 0;
  Bytes bytes;
  std::uint32_t exchange = 0;  // 1 + the shape of an exchange of tokens by machine (network_model.h)
  bool operator==(const Message&) const = default;
};

struct Port {
  std::uint32_t message = 0;
  Side side = Side::member;
  bool operator==(const Port&) const = default;
};

struct RelationUse {
  std::uint32_t relation = 0;
  Side side = Side::member;
  bool operator==(const RelationUse&) const = default;
};

struct Messages {
  std::vector<Relation> relations;
  std::vector<Channel> channels;
  std::vector<Message> messages;
  std::vector<std::vector<Port>> ports;                // [program]
  std::vector<std::vector<std::uint16_t>> port_of_op;  // [program][op]; kNoPort: not a communication
  std::vector<std::vector<RelationUse>> uses;          // [program]: through its ports
  std::uint32_t relation_of(std::uint32_t message) const {
    return channels[messages[message].channel].relation;
  }
};

Messages collect_messages(const schedule::Schedule& schedule);

// An instance of a relation is named by a rank: the first member of the group, or the sender.
std::int64_t instance_of(const schedule::Schedule& schedule, const Relation& relation, std::int64_t rank,
                         Side side);

// The ranks that meet, in group order (sender, receiver).
void members_of(const schedule::Schedule& schedule, const Relation& relation, std::int64_t instance,
                std::vector<std::int64_t>& members);

}  // namespace orrery::sim::engine
