// The network names the pattern of a list of members (NetworkModel::pattern): equal patterns have equal
// plans, so each message is planned once a pattern. Cost: one walk over the members of every used instance.
#include "sim/engine/plans.h"

#include <algorithm>
#include <unordered_map>

namespace orrery::sim::engine {
namespace {

using schedule::Schedule;

// Everything that the engine reads of a plan, and that NetworkModel::loads may depend on.
bool same(const TransferPlan& a, const TransferPlan& b) {
  return a.time == b.time && a.sms == b.sms && a.port_weight == b.port_weight &&
         a.pcie_weight == b.pcie_weight && a.port_is_pcie == b.port_is_pcie && a.nic_weight == b.nic_weight &&
         a.core_weight == b.core_weight &&
         a.crosses_nodes == b.crosses_nodes && a.algorithm == b.algorithm && a.protocol == b.protocol;
}

std::uint32_t plan_index(PlanTable& table, const TransferPlan& plan) {
  const auto known = std::find_if(table.plans.begin(), table.plans.end(),
                                  [&](const TransferPlan& other) { return same(plan, other); });
  const auto index = static_cast<std::uint32_t>(known - table.plans.begin());
  if (known == table.plans.end()) table.plans.push_back(plan);
  return index;
}

class Planner {
 public:
  Planner(const Schedule& schedule, const Messages& messages, const NetworkModel& network)
      : schedule_(schedule), messages_(messages), network_(network) {
    table_.messages.resize(messages.relations.size());
    for (std::uint32_t m = 0; m < messages.messages.size(); ++m) {
      auto& of_relation = table_.messages[messages.relation_of(m)];
      table_.place_in_row.push_back(static_cast<std::uint32_t>(of_relation.size()));
      of_relation.push_back(m);
    }
    table_.rows.resize(messages.relations.size());
    table_.row_of.assign(messages.relations.size(),
                         std::vector<std::uint32_t>(static_cast<std::size_t>(schedule.world), kNone));
    rows_of_pattern_.resize(messages.relations.size());
  }

  PlanTable table() {
    for (std::int64_t rank = 0; rank < schedule_.world; ++rank) {
      const auto program = static_cast<std::size_t>(schedule_.program_group.index(rank));
      for (const RelationUse& use : messages_.uses[program]) {
        const std::int64_t instance =
            instance_of(schedule_, messages_.relations[use.relation], rank, use.side);
        std::uint32_t& row = table_.row_of[use.relation][static_cast<std::size_t>(instance)];
        if (row == kNone) row = row_for(use.relation, instance);
      }
    }
    return std::move(table_);
  }

 private:
  std::uint32_t row_for(std::uint32_t relation, std::int64_t instance) {
    members_of(schedule_, messages_.relations[relation], instance, members_);
    const auto [at, fresh] = rows_of_pattern_[relation].try_emplace(network_.pattern(members_), kNone);
    if (!fresh) return at->second;
    std::vector<std::uint32_t> row;
    for (const std::uint32_t m : table_.messages[relation]) {
      row.push_back(plan_index(table_, plan_of(messages_.messages[m])));
    }
    auto& rows = table_.rows[relation];
    const auto known = std::find(rows.begin(), rows.end(), row);
    at->second = static_cast<std::uint32_t>(known - rows.begin());
    if (known == rows.end()) rows.push_back(std::move(row));
    return at->second;
  }

  // Of a message between `members_`. What a rank sends itself takes no time.
  TransferPlan plan_of(const Message& message) const {
    if (message.exchange > 0)
      return network_.by_node(token_exchange(schedule_.shapes[message.exchange - 1]), message.bytes, members_);
    if (message.kind != schedule::OpKind::send)
      return network_.collective(message.kind, message.bytes, members_);
    if (members_[0] == members_[1]) return {};
    return network_.point_to_point(members_[0], members_[1], message.bytes);
  }

  const Schedule& schedule_;
  const Messages& messages_;
  const NetworkModel& network_;
  PlanTable table_;
  std::vector<std::unordered_map<std::uint64_t, std::uint32_t>> rows_of_pattern_;  // [relation]
  std::vector<std::int64_t> members_;
};

}  // namespace

PlanTable make_plans(const Schedule& schedule, const Messages& messages, const NetworkModel& network) {
  return Planner(schedule, messages, network).table();
}

}  // namespace orrery::sim::engine
