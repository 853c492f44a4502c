// Tokens that go to each machine once: how many machines a token has experts on, counted out, and what it saves.
#include "sim/network/token_exchange.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "sim/network/alpha_beta.h"
#include "tests/sim/network/clusters.h"

namespace orrery::sim {
namespace {

// Every choice of `choices` of `experts`, that lie one machine behind the other.
double counted(int choices, int experts, int machines) {
  double sum = 0.0, number = 0.0;
  for (unsigned chosen = 0; chosen < (1U << experts); ++chosen) {
    if (std::popcount(chosen) != choices) continue;
    std::set<int> on;
    for (int e = 0; e < experts; ++e)
      if ((chosen >> e) & 1U) on.insert(e * machines / experts);
    sum += static_cast<double>(on.size());
    number += 1.0;
  }
  return sum / number;
}

TEST(TokenExchange, MachinesOfAToken) {
  for (const int machines : {1, 2, 4, 8})
    for (const int choices : {1, 2, 3, 6})
      EXPECT_NEAR(machines_of_token({.choices = choices, .experts = 8}, machines), counted(choices, 8, machines), 1e-9)
          << choices << " of 8 on " << machines;
}

// DeepSeek-V3: 8 of 256 within the best 4 of 8 groups, one a machine.
TEST(TokenExchange, ARouterMayLimitThem) {
  const TokenExchange limited{.choices = 8, .experts = 256, .groups = 8, .top_groups = 4};
  const double on = machines_of_token(limited, 8);
  EXPECT_GT(on, 3.5);
  EXPECT_LT(on, 4.0);
  EXPECT_GT(machines_of_token({.choices = 8, .experts = 256}, 8), 5.0);
  EXPECT_LT(machines_of_token(limited, 4), machines_of_token(limited, 8));
  EXPECT_LT(machines_of_token(limited, 8), machines_of_token(limited, 16));
}

TEST(TokenExchange, SavesWhatWouldCrossTwice) {
  const AlphaBeta model(shipped_cluster("h100-16x8"), {});
  const TokenExchange exchange{.choices = 8, .experts = 256, .groups = 8, .top_groups = 4};
  const Bytes bytes = Bytes::from_mib(512);
  const auto seconds = [](const TransferPlan& plan) { return plan.time.seconds(); };
  const double pairs = seconds(model.collective(schedule::OpKind::all_to_all, bytes, ranks(64)));
  const double once = seconds(model.by_node(exchange, bytes, ranks(64)));
  // Of 8 rows 7 cross, or 3.6 of 4 machines less its own; then the network still is what takes longest.
  EXPECT_NEAR(pairs / once, 8.0 / machines_of_token(exchange, 8), 0.05);
  EXPECT_EQ(seconds(model.collective(schedule::OpKind::all_to_all, bytes, ranks(8))), seconds(model.by_node(exchange, bytes, ranks(8))));
}

}  // namespace
}  // namespace orrery::sim
