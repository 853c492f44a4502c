// Neighbours on the data-parallel axis (with context parallelism: on both) hold one copy together, so that a
// shard group lies within a node where it can; replicas stride over the groups.
#include "schedule/compile/sharding.h"

#include <algorithm>
#include <string_view>

#include "base/check.h"

namespace orrery::schedule {
namespace {

std::uint8_t index_of(const std::vector<Group>& groups, std::string_view name) {
  const auto at = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.name == name; });
  CHECK(at != groups.end(), name);
  return static_cast<std::uint8_t>(at - groups.begin());
}

std::int64_t secondary_of(const scenarios::Scenario& s) {
  return s.sharding.secondary > 0 ? s.sharding.secondary : s.sharding.reshard_to;
}

bool sharded(const scenarios::Scenario& s) { return s.parallel.replicas() > 1 && s.parallel.zero > 0; }

// Quantised gradients take two hops where the ranks that shard span several nodes.
bool two_hops(const scenarios::Scenario& s) {
  const std::int64_t node = s.compression.node_ranks, shards = s.sharding.shards(s.parallel.replicas());
  return sharded(s) && s.parallel.zero >= 2 && s.compression.gradient_bits > 0 && node > 1 && node < shards;
}

}  // namespace

void append_shard_groups(const scenarios::Scenario& s, std::vector<Group>& groups) {
  if (!sharded(s)) return;
  const scenarios::Parallel& p = s.parallel;
  const std::int64_t ranks = p.replicas(), shards = s.sharding.shards(ranks), secondary = secondary_of(s);
  const std::int64_t first = p.cp > 1 ? std::min(p.cp_stride, p.dp_stride) : p.dp_stride;
  CHECK(ranks % shards == 0, ranks, shards);
  const auto append = [&](const char* name, std::int64_t stride, std::int64_t size) {
    groups.push_back({.name = name, .stride = stride, .size = size, .period = size, .step = 1});
  };
  if (shards < ranks) {
    append("shard", first, shards);
    append("replica", first * shards, ranks / shards);
  }
  if (p.zero == 3 && secondary > 0 && secondary < shards) {
    CHECK(shards % secondary == 0, shards, secondary);
    append("secondary", first, secondary);
  }
  if (two_hops(s)) {
    CHECK(shards % s.compression.node_ranks == 0, shards, s.compression.node_ranks);
    append("gradient_node", first, s.compression.node_ranks);
    append("gradient_across", first * s.compression.node_ranks, shards / s.compression.node_ranks);
  }
}

ShardPlan shard_plan(const scenarios::Scenario& s, const std::vector<Group>& groups) {
  ShardPlan plan;
  if (s.parallel.cp > 1) plan.gradient_group = plan.shard_group = index_of(groups, "gradient");
  if (!sharded(s)) return plan;
  plan.shards = s.sharding.shards(s.parallel.replicas());
  plan.replicas = s.parallel.replicas() / plan.shards;
  if (plan.replicas > 1) {
    plan.shard_group = index_of(groups, "shard");
    plan.replica_group = index_of(groups, "replica");
  }
  plan.node = plan.shards;
  plan.node_group = plan.shard_group;
  if (two_hops(s)) {
    plan.node = s.compression.node_ranks;
    plan.nodes = plan.shards / plan.node;
    plan.node_group = index_of(groups, "gradient_node");
    plan.across_group = index_of(groups, "gradient_across");
  }
  const std::int64_t secondary = secondary_of(s);
  if (s.parallel.zero == 3 && secondary > 0 && secondary < plan.shards) {
    plan.secondary = secondary;
    plan.secondary_stays = s.sharding.secondary > 0;
    plan.secondary_group = index_of(groups, "secondary");
  }
  return plan;
}

Keep keep_of(const scenarios::Sharding& s, UnitKind kind) {
  if (!s.reshard_after_backward) return Keep::step;
  const bool reshards =
      !is_end(kind) ? s.reshard_after_forward : s.root_reshards && s.reshard_after_forward;
  return reshards ? Keep::use : Keep::microbatch;
}

}  // namespace orrery::schedule
