// Context parallelism: positions are a partition, every member of the ring sees as many keys at every step, and messages
// and FLOPs of a compiled layer are the closed forms of docs/models/context.md.
#include <gtest/gtest.h>

#include <map>

#include "schedule/compile.h"
#include "schedule/kernel_work.h"
#include "schedule/positions.h"
#include "schedule/verify.h"
#include "tests/schedule/small_scenarios.h"

namespace orrery::schedule {
namespace {

using scenarios::ContextMethod;

std::vector<std::int64_t> positions(const std::vector<PositionRun>& runs) {
  std::vector<std::int64_t> all;
  for (const PositionRun& run : runs) {
    EXPECT_EQ(run.row, static_cast<std::int64_t>(all.size()));
    for (std::int64_t i = 0; i < run.count; ++i) all.push_back(run.position + i);
  }
  return all;
}

TEST(Positions, AreAPartitionOfTheSequence) {
  for (const std::int64_t ring : {1, 2, 3, 4})
    for (const std::int64_t ulysses : {1, 2, 3, 4}) {
      const std::int64_t length = 6;
      std::vector<int> seen(static_cast<std::size_t>(ring * ulysses * length));
      for (std::int64_t i = 0; i < ring; ++i)
        for (std::int64_t k = 0; k < ulysses; ++k)
          for (const std::int64_t p : positions(positions_of({ring, i, ulysses, k}, length))) ++seen[static_cast<std::size_t>(p)];
      for (const int times : seen) EXPECT_EQ(times, 1);
    }
}

TEST(Positions, OfFourRanks) {
  const auto of = [](std::int64_t i) { return positions(positions_of({.ring = 4, .ring_index = i}, 4)); };
  EXPECT_EQ(of(0), (std::vector<std::int64_t>{0, 1, 14, 15}));
  EXPECT_EQ(of(3), (std::vector<std::int64_t>{6, 7, 8, 9}));
  // Two rings of two exchange heads: a member's first chunk is on one rank, the second on the other.
  EXPECT_EQ(positions(positions_of({2, 0, 2, 0}, 4)), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(positions(positions_of({2, 0, 2, 1}, 4)), (std::vector<std::int64_t>{12, 13, 14, 15}));
}

// Pairs of query and key that the causal mask leaves: half of queries x keys at each step, whoever meets whom.
TEST(Positions, EveryStepOfEveryMemberIsHalfVisible) {
  const std::int64_t ring = 4, length = 8;
  for (std::int64_t step = 0; step < ring; ++step)
    for (std::int64_t i = 0; i < ring; ++i) {
      KernelShape shape;
      shape.sequence = length;
      const AttentionPositions p = attention_positions({.ring = ring, .ring_index = i}, shape, -step);
      std::int64_t pairs = 0;
      for (const std::int64_t q : positions(p.queries))
        for (const std::int64_t k : positions(p.keys)) pairs += k <= q ? 1 : 0;
      EXPECT_EQ(2 * pairs, step == 0 ? length * (length + 1) : length * length) << step << " " << i;
    }
}

scenarios::Scenario context_scenario(std::int64_t cp, ContextMethod method, std::int64_t ulysses, Plan plan = {}) {
  models::Architecture model = llama_style(2);
  model.kv_heads = 4;
  scenarios::Scenario s = small_scenario(model, plan);
  s.parallel.cp = cp;
  s.parallel.context_method = method;
  s.parallel.ulysses = ulysses;
  s.training.sequence_length = 16;
  scenarios::place_ranks(s.parallel);
  return s;
}

// Sums over the calls of a step: bytes sent by kind of op on the stream of context, FLOPs of attention.
struct Sums {
  std::map<OpKind, std::int64_t> bytes;
  double attention = 0.0, model = 0.0;
};
Sums sums(const Schedule& s) {
  Sums sum;
  const Program& p = s.programs.front();
  for_each_call(p, ~0U, [&](const Call& call, std::uint32_t, std::uint32_t) {
    for (const Op& op : p.ops_of(p.block(call))) {
      if (op.stream == Stream::context) sum.bytes[op.kind] += message_bytes(p, op).count();
      if (op.kind != OpKind::attention_forward && op.kind != OpKind::attention_backward) continue;
      const KernelWork work = work_of(p, op, s.shapes[op.shape]);
      sum.attention += work.flops.value();
      sum.model += work.model_flops.value();
    }
  });
  return sum;
}

// 2 microbatches of 2 sequences of 16, 2 layers, 4 heads and 4 key/value heads of 4, bf16.
constexpr std::int64_t kTimes = 2 * 2, kTokens = 2 * 16, kColumns = 16, kElement = 2;

TEST(ContextTraffic, Ring) {
  for (const std::int64_t r : {2, 4}) {
    const std::int64_t message = 2 * kTokens / r * kColumns * kElement;  // keys and values of a member
    const Sums s = sums(compile(context_scenario(r, ContextMethod::ring, 1)));
    EXPECT_EQ(s.bytes.at(OpKind::send), kTimes * (2 * (r - 1) + r) * message);
    EXPECT_EQ(s.bytes.at(OpKind::recv), s.bytes.at(OpKind::send));
  }
}

TEST(ContextTraffic, AllGather) {
  const std::int64_t r = 4, message = 2 * kTokens / r * kColumns * kElement;
  const Sums s = sums(compile(context_scenario(r, ContextMethod::all_gather, 1)));
  EXPECT_EQ(s.bytes.at(OpKind::all_gather), kTimes * 2 * r * message);
  EXPECT_EQ(s.bytes.at(OpKind::reduce_scatter), kTimes * r * message);
}

TEST(ContextTraffic, Ulysses) {
  const std::int64_t u = 4;
  const Sums s = sums(compile(context_scenario(u, ContextMethod::ulysses, u)));
  EXPECT_EQ(s.bytes.at(OpKind::all_to_all), kTimes * 2 * (3 + 1) * kTokens / u * kColumns * kElement);
}

TEST(ContextTraffic, Hybrid) {
  const std::int64_t r = 2, u = 2;
  const Sums s = sums(compile(context_scenario(4, ContextMethod::hybrid, u)));
  EXPECT_EQ(s.bytes.at(OpKind::send), kTimes * (2 * (r - 1) + r) * 2 * kTokens / r * (kColumns / u) * kElement);
  EXPECT_EQ(s.bytes.at(OpKind::all_to_all), kTimes * 2 * (3 + 1) * kTokens / (r * u) * kColumns * kElement);
}

// Each of cp ranks does its share of the attention of one, whichever way.
TEST(ContextFlops, AreAnEqualShare) {
  const Sums one = sums(compile(context_scenario(1, ContextMethod::ring, 1)));
  struct Way {
    std::int64_t cp, ulysses;
    ContextMethod method;
  };
  for (const Way way : {Way{2, 1, ContextMethod::ring}, Way{4, 1, ContextMethod::ring}, Way{4, 1, ContextMethod::all_gather},
                        Way{4, 4, ContextMethod::ulysses}, Way{4, 2, ContextMethod::hybrid}}) {
    const Sums s = sums(compile(context_scenario(way.cp, way.method, way.ulysses)));
    EXPECT_DOUBLE_EQ(s.attention * static_cast<double>(way.cp), one.attention);
    EXPECT_DOUBLE_EQ(s.model * static_cast<double>(way.cp), one.model);
  }
}

TEST(ContextPlans, AreSound) {
  for (const ContextMethod method : {ContextMethod::ring, ContextMethod::all_gather, ContextMethod::ulysses, ContextMethod::hybrid})
    for (const std::int64_t tp : {1, 2})
      for (const std::int64_t pp : {1, 2})
        for (const int zero : {0, 1, 3}) {
          const std::int64_t cp = method == ContextMethod::hybrid ? 4 : 2;
          const std::int64_t ulysses = method == ContextMethod::ring || method == ContextMethod::all_gather ? 1 : 2;
          scenarios::Scenario s = context_scenario(cp, method, ulysses, {.tp = tp, .pp = pp, .dp = 2, .zero = zero, .sequence_parallel = tp > 1});
          if (tp == 2 && ulysses == 2) s.model.kv_heads = 4;
          for (const scenarios::Recompute recompute : {scenarios::Recompute::none, scenarios::Recompute::full, scenarios::Recompute::selective}) {
            s.training.recompute = recompute;
            const Schedule schedule = compile(s);
            const auto findings = verify(schedule);
            EXPECT_TRUE(findings.empty()) << findings.front().message;
            const std::uint8_t gradient = find_group(schedule, "gradient");
            EXPECT_EQ(schedule.groups[gradient].size, 2 * cp);
            EXPECT_EQ(schedule.programs[0].units[0].shard_group, gradient);
          }
        }
}

}  // namespace
}  // namespace orrery::schedule
