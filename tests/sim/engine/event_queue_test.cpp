// The queue against a sorted multiset, under random pushes and pops.
#include "sim/engine/event_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <utility>

namespace orrery::sim::engine {
namespace {

TEST(EventQueue, PopsInOrderOfTimeAndEntity) {
  std::mt19937 random(1);
  EventQueue queue;
  std::multiset<std::pair<std::int64_t, std::uint32_t>> expected;
  for (int n = 0; n < 200'000; ++n) {
    if (expected.empty() || random() % 5 < (n < 100'000 ? 3U : 2U)) {
      const Event event{static_cast<std::int64_t>(random() % 300), static_cast<std::uint32_t>(random() % 50)};
      queue.push(event);
      expected.emplace(event.time, event.entity);
    } else {
      ASSERT_EQ(std::pair(queue.top().time, queue.top().entity), *expected.begin());
      queue.pop();
      expected.erase(expected.begin());
    }
    ASSERT_EQ(queue.empty(), expected.empty());
  }
}

}  // namespace
}  // namespace orrery::sim::engine
