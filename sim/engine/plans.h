// What every message costs on every instance of its relation, asked of the network model once per kind.
// Instances whose messages all have equal plans share a row: a symmetric cluster has a handful of rows for
// thousands of groups.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/messages.h"
#include "sim/network/network_model.h"

namespace orrery::sim::engine {

inline constexpr std::uint32_t kNone = 0xffffffff;

struct PlanTable {
  std::vector<TransferPlan> plans;                            // distinct
  std::vector<std::uint32_t> place_in_row;                    // [message]: its index in a row
  std::vector<std::vector<std::uint32_t>> messages;           // [relation]: its messages
  std::vector<std::vector<std::vector<std::uint32_t>>> rows;  // [relation][row][place]: plan
  std::vector<std::vector<std::uint32_t>> row_of;  // [relation][instance]: row; kNone: nobody uses it

  const TransferPlan& plan(const Messages& all, std::uint32_t message, std::int64_t instance) const {
    const std::uint32_t relation = all.relation_of(message);
    return plans[rows[relation][row_of[relation][static_cast<std::size_t>(instance)]][place_in_row[message]]];
  }
};

PlanTable make_plans(const schedule::Schedule& schedule, const Messages& messages,
                     const NetworkModel& network);

}  // namespace orrery::sim::engine
