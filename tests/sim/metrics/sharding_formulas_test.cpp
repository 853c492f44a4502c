// The table of docs/models/sharding.md, met exactly: states, gathers and bytes of sharded plans.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "schedule/compile.h"
#include "schedule/kernel_work.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

using schedule::OpKind;
using testing::Gpt;
using testing::gpt;

scenarios::Scenario sharded(const std::string& framework, int zero, const std::string& sharding,
                            int microbatches = 3) {
  Gpt g;
  g.framework = framework;
  g.gpus = 32;
  g.zero = zero;
  g.micro_batch = 1;
  g.global_batch = 32 * microbatches;
  g.rest = ", \"sharding\": { " + sharding + " }";
  return gpt(g);
}

struct Traffic {
  std::int64_t messages = 0, bytes = 0;
};

// Collectives of one rank and step, of layers only: (kind, group) to how many and how large.
std::map<std::pair<OpKind, std::string>, Traffic> layer_traffic(const scenarios::Scenario& scenario) {
  const schedule::Schedule s = schedule::compile(scenario);
  const schedule::Program& p = s.programs.front();
  std::map<std::pair<OpKind, std::string>, Traffic> traffic;
  schedule::for_each_call(p, std::numeric_limits<std::uint32_t>::max(),
                          [&](const schedule::Call& call, auto, auto) {
                            if (p.units[call.unit].kind != schedule::UnitKind::layer) return;
                            for (const schedule::Op& op : p.ops_of(p.block(call))) {
                              if (!schedule::is_collective(op.kind) || p.block(call).name == "finish_norm")
                                continue;
                              Traffic& t = traffic[{op.kind, s.groups[op.group].name}];
                              ++t.messages;
                              t.bytes += schedule::message_bytes(p, op).count();
                            }
                          });
  return traffic;
}

std::int64_t layer_elements(const scenarios::Scenario& s) {
  return schedule::compile(s).programs.front().units.front().elements;
}

std::int64_t persistent_states(const scenarios::Scenario& s) {
  const schedule::Schedule compiled = schedule::compile(s);
  std::int64_t bytes = 0;
  for (const schedule::Buffer& b : compiled.programs.front().buffers) {
    const bool state = b.kind == schedule::BufferKind::weight || b.kind == schedule::BufferKind::gradient ||
                       b.kind == schedule::BufferKind::optimizer;
    if (b.persistent && state) bytes += b.bytes().count() * b.instances;
  }
  return bytes;
}

std::int64_t parameters(const scenarios::Scenario& s) {
  const schedule::Schedule schedule = schedule::compile(s);
  std::int64_t elements = 0;
  for (const schedule::Unit& unit : schedule.programs.front().units) elements += unit.elements;
  return elements;
}

TEST(ShardedStates, AreSharedByTheGroup) {
  const auto states = [](const std::string& framework, int zero, const std::string& sharding) {
    const scenarios::Scenario s = sharded(framework, zero, sharding);
    return 32.0 * static_cast<double>(persistent_states(s)) / static_cast<double>(parameters(s));
  };
  EXPECT_EQ(states("megatron", 1, ""), 32 * 6 + 12);
  EXPECT_EQ(states("megatron", 1, R"("group": 8)"), 32 * 6 + 4 * 12);
  EXPECT_EQ(states("deepspeed", 3, ""), 16);
  EXPECT_EQ(states("deepspeed", 3, R"("group": 8)"), 4 * 16);
  EXPECT_EQ(states("fsdp", 3, R"("group": 8)"), 4 * (4 + 4 + 8));
  EXPECT_EQ(states("deepspeed", 3, R"("secondary_group": 8, "max_live_elements": 0)"), 16 + 4 * 2);  // hpZ: 2 bytes / 8 more
}

// 2 m gathers a layer, m, 1, or m over all and m over the neighbours.
TEST(Gathers, AreAsManyAsTheSettingSays) {
  const auto gathers = [](const std::string& sharding) {
    return layer_traffic(sharded("orrery", 3, sharding));
  };
  const std::int64_t layers = 4, m = 3;
  const auto count = [](const auto& traffic, const char* group) {
    const auto at = traffic.find({OpKind::all_gather, group});
    return at == traffic.end() ? 0 : at->second.messages;
  };
  EXPECT_EQ(count(gathers(""), "data"), 2 * m * layers);
  EXPECT_EQ(count(gathers(R"("reshard_after_forward": false)"), "data"), m * layers);
  EXPECT_EQ(count(gathers(R"("reshard_after_forward": false, "reshard_after_backward": false)"), "data"),
            layers);
  const auto parts = gathers(R"("reshard_after_forward": 8)");
  EXPECT_EQ(count(parts, "data"), m * layers);
  EXPECT_EQ(count(parts, "secondary"), m * layers);
  const auto hybrid = gathers(R"("group": 8)");
  EXPECT_EQ(count(hybrid, "shard"), 2 * m * layers);
  EXPECT_EQ(count(hybrid, "data"), 0);
}

TEST(Gathers, CarryTheWholeUnit) {
  const scenarios::Scenario s = sharded("fsdp", 3, "");
  const auto traffic = layer_traffic(s);
  EXPECT_EQ(traffic.at({OpKind::all_gather, "data"}).bytes, 2 * 3 * 4 * layer_elements(s) * 2)
      << "16 bits, twice, m = 3";
  EXPECT_EQ(traffic.at({OpKind::reduce_scatter, "data"}).bytes, 3 * 4 * layer_elements(s) * 4)
      << "fp32, once";
}

// The most layers whose weights are gathered at once, in the forward and in the backward, in the order of issue.
std::pair<std::int64_t, std::int64_t> most_gathered(const scenarios::Scenario& scenario) {
  const schedule::Schedule s = schedule::compile(scenario);
  const schedule::Program& p = s.programs.front();
  std::int64_t live = 0, forward = 0, backward = 0;
  schedule::for_each_call(p, std::numeric_limits<std::uint32_t>::max(), [&](const schedule::Call& call, auto, auto) {
    const schedule::Block& block = p.block(call);
    for (const schedule::Op& op : p.ops_of(block)) {
      const auto of_layers = [&](const schedule::View& v) { return p.buffer(block, v).name == "layer.gathered_weights"; };
      for (const schedule::View& v : p.views_of(op)) live += v.allocates && of_layers(v) ? 1 : 0;
      std::int64_t& most = op.phase == schedule::Phase::forward ? forward : backward;
      most = std::max(most, live);
      for (const schedule::View& v : p.views_of(op)) live -= v.frees && of_layers(v) ? 1 : 0;
    }
  });
  EXPECT_EQ(live, 0);
  return {forward, backward};
}

// FSDP1's words, by what they gather and hold of 4 layers (docs/models/sharding.md, "FSDP1").
TEST(Fsdp1, HoldsWhatItsWordsSay) {
  using Most = std::pair<std::int64_t, std::int64_t>;
  EXPECT_EQ(most_gathered(sharded("fsdp", 3, "")), Most(2, 2));
  EXPECT_EQ(most_gathered(sharded("fsdp1", 3, "")), Most(2, 2));
  EXPECT_EQ(most_gathered(sharded("fsdp1", 3, R"("forward_prefetch": true)")), Most(2, 2));
  EXPECT_EQ(most_gathered(sharded("fsdp1", 3, R"("limit_all_gathers": false)")), Most(4, 4));
  EXPECT_EQ(most_gathered(sharded("fsdp1", 3, R"("backward_prefetch": "post")")), Most(2, 1));
  EXPECT_EQ(most_gathered(sharded("fsdp1", 3, R"("backward_prefetch": "none")")), Most(2, 1));
  EXPECT_EQ(most_gathered(sharded("fsdp1", 3, R"("strategy": "shard_grad_op")")), Most(4, 4));
}

// Gathered in 16 bits twice a microbatch, reduced in 16: half of FSDP2's reductions as torchtitan sets it.
TEST(Fsdp1, ReducesInTheTypeOfParameters) {
  const scenarios::Scenario s = sharded("fsdp1", 3, "");
  const auto traffic = layer_traffic(s);
  EXPECT_EQ(traffic.at({OpKind::all_gather, "data"}).bytes, 2 * 3 * 4 * layer_elements(s) * 2);
  EXPECT_EQ(traffic.at({OpKind::reduce_scatter, "data"}).bytes, 3 * 4 * layer_elements(s) * 2);
  EXPECT_EQ(32 * persistent_states(s), 16 * parameters(s));
}

// The gradient is scattered in the group and only the shard crosses groups: every microbatch, or once a step.
TEST(Reductions, GoThroughTheGroupAndItsReplicas) {
  const std::int64_t m = 3, layers = 4;
  const auto check = [&](const std::string& framework, const std::string& sharding, std::int64_t scatters,
                         std::int64_t sums) {
    const scenarios::Scenario s = sharded(framework, 3, sharding);
    const auto traffic = layer_traffic(s);
    const std::int64_t bytes = layer_elements(s) * s.recipe.gradient_bytes;
    EXPECT_EQ(traffic.at({OpKind::reduce_scatter, "shard"}).bytes, scatters * layers * bytes) << sharding;
    EXPECT_EQ(traffic.at({OpKind::all_reduce, "replica"}).bytes, sums * layers * bytes / 8) << sharding;
  };
  check("fsdp", R"("group": 8)", m, m);
  check("fsdp", R"("group": 8, "reduce": "step")", 1, 1);
  check("deepspeed", R"("group": 8)", m, 1);  // MiCS: two hops
}

// qwZ: a byte an element and a float a block, of each rank's shard; qgZ: half a byte, once in the node and, for a
// node's share of it, once across nodes.
TEST(Quantised, BytesOnTheWireAreExact) {
  scenarios::Scenario s = sharded("deepspeed", 3, R"("max_live_elements": 0)");
  const std::int64_t m = 3, layers = 4, shard = layer_elements(s) / 32, block = 2048;
  s.compression.weight_bits = 8;
  s.compression.gradient_bits = 4;
  s.compression.node_ranks = 8;
  const auto traffic = layer_traffic(s);
  const std::int64_t scales = 4 * ((shard + block - 1) / block);
  EXPECT_EQ(traffic.at({OpKind::all_gather, "data"}).bytes, 2 * m * layers * 32 * (shard + scales));
  const std::int64_t codes = (shard + 1) / 2 + scales;
  EXPECT_EQ(traffic.at({OpKind::all_to_all, "gradient_node"}).bytes, m * layers * 32 * codes);
  EXPECT_EQ(traffic.at({OpKind::all_to_all, "gradient_across"}).bytes, m * layers * 4 * codes);
  EXPECT_EQ(traffic.count({OpKind::reduce_scatter, "data"}), 0U);
}

// Layers that stay live are gathered once a microbatch.
TEST(Gathers, SpareLayersThatStayLive) {
  const auto count = [](const char* sharding) {
    return layer_traffic(sharded("deepspeed", 3, sharding)).at({OpKind::all_gather, "data"}).messages;
  };
  EXPECT_EQ(count(R"("max_live_elements": 0)"), 2 * 3 * 4);
  EXPECT_EQ(count(""), 3 * 4) << "the model is under the limit";
}

// Units of several layers: as many gathers, in grouped calls; what is held at once is a unit and what is
// prefetched.
TEST(Units, AreGatheredTogether) {
  const schedule::Schedule s = schedule::compile(sharded("fsdp", 3, R"("unit_layers": 2)"));
  std::size_t grouped = 0;
  for (const schedule::Op& op : s.programs.front().ops)
    grouped += op.kind == OpKind::all_gather && op.grouped ? 1 : 0;
  EXPECT_GE(grouped, 2U) << "of the forward and of the backward";
}

}  // namespace
}  // namespace orrery::sim
