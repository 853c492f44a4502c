// Over which ranks ZeRO and FSDP spread the states of a stage, and how long what they gather stays. With a
// shard group smaller than the data-parallel ranks, each group holds one copy of the states together and the
// groups replicate it (HSDP: Zhao et al. 2023, section 3.2.2; MiCS: Zhang et al. 2022). A secondary shard,
// within a node, serves the backward (ZeRO++ hpZ: Wang et al. 2023, section 3.2; FSDP2's
// reshard_after_forward as a number).
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/scenario.h"
#include "schedule/ir.h"

namespace orrery::schedule {

// How long weights stay that a unit has gathered.
enum class Keep : std::uint8_t {
  use,         // until the forward or the backward has used them
  microbatch,  // from the forward to the backward
  step,        // from the first forward to the last backward
};

struct ShardPlan {
  std::int64_t shards = 1;     // parts into which the states are cut
  std::int64_t replicas = 1;   // copies of the whole: shards * replicas = ranks with the same parameters
  std::int64_t secondary = 0;  // parts into which weights are cut for the backward; 0: as for the forward
  bool secondary_stays = false;
  std::uint8_t gradient_group = kData;  // all that hold the same parameters, shards and copies
  // Quantised gradients go through `node` neighbours first, then across them; the groups exist where both are > 1.
  std::int64_t node = 1, nodes = 1;
  std::uint8_t node_group = kNoGroup, across_group = kNoGroup;
  std::uint8_t shard_group = kData, replica_group = kNoGroup, secondary_group = kNoGroup;
};

// Appends the groups that the plan needs beyond the standard ones.
void append_shard_groups(const scenarios::Scenario& scenario, std::vector<Group>& groups);

ShardPlan shard_plan(const scenarios::Scenario& scenario, const std::vector<Group>& groups);

Keep keep_of(const scenarios::Sharding& sharding, UnitKind kind);

}  // namespace orrery::schedule
