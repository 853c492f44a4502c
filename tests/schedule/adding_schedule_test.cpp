// The schedule that docs/adding-a-schedule.md adds: the page shows the very file, and it is an order.
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "base/diagnostics.h"
#include "schedule/compile/pipeline_order.h"

namespace orrery::schedule {

Order late_weights_order(const PipelineShape& shape, std::int64_t rank);

namespace {

TEST(AddingASchedule, ThePageShowsTheFile) {
  std::istringstream file(read_source("tests/schedule/order_late_weights.cpp")->text);
  std::string shown, line;
  while (std::getline(file, line)) shown += (line.empty() ? "" : "    ") + line + "\n";
  EXPECT_NE(read_source("docs/adding-a-schedule.md")->text.find(shown), std::string::npos) << shown;
}

TEST(AddingASchedule, ItIsAnOrder) {
  for (std::int64_t p = 1; p <= 4; ++p)
    for (std::int64_t m = 1; m <= 9; ++m)
      for (std::int64_t rank = 0; rank < p; ++rank) {
        const Order order = late_weights_order({.stages = p, .microbatches = m}, rank);
        std::map<std::uint32_t, std::string> seen;
        for (const Action& a : order) seen[a.microbatch] += is_forward(a) ? "F" : gives_gradient(a) ? "B" : "W";
        EXPECT_EQ(static_cast<std::int64_t>(seen.size()), m);
        for (const auto& [microbatch, actions] : seen) EXPECT_EQ(actions, "FBW") << microbatch;
        EXPECT_EQ(microbatches_in_flight(order), m);
      }
}

}  // namespace
}  // namespace orrery::schedule
