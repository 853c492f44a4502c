// Can the states be spread so, and can what is gathered stay so long? The frameworks' own restrictions:
// torch.distributed.fsdp.fully_shard (reshard_after_forward), DeepSpeed's configuration of MiCS and ZeRO++,
// and Megatron-Core's num_distributed_optimizer_instances. docs/models/sharding.md says what each setting
// does.
#include <algorithm>

#include <fmt/format.h>

#include "scenarios/divisors.h"
#include "scenarios/rules.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

bool gathers(const Scenario& s) { return s.parallel.zero == 3 && s.parallel.replicas() > 1; }

// Several microbatches are between their forward and their backward at once.
bool in_flight(const Parallel& p) { return p.pp > 1 || p.schedule == PipelineSchedule::gpipe; }

std::vector<std::int64_t> proper_divisors(std::int64_t n) {
  std::vector<std::int64_t> all = divisors(n);
  std::erase_if(all, [&](std::int64_t d) { return d == 1 || d == n; });
  return all;
}

void group_divides(Draft& d, Diagnostics& diagnostics) {
  const std::int64_t group = d.scenario.sharding.group, dp = d.scenario.parallel.replicas();
  if (group == 0 || d.scenario.parallel.zero == 0 || dp == 1) return;
  if (group == 1)
    diagnostics.error(d.at("sharding.group"), "a group of one rank shards nothing",
                      fmt::format("use zero 0, or a group of {} or \"all\"",
                                  alternatives(nearest(
                                      proper_divisors(dp).empty() ? divisors(dp) : proper_divisors(dp), 2))));
  else if (dp % group != 0)
    diagnostics.error(d.at("sharding.group"),
                      fmt::format("groups of {} do not divide {}={}", group,
                                  d.scenario.parallel.cp > 1 ? "dp x cp" : "dp", dp),
                      fmt::format("use {} or \"all\"", alternatives(nearest(divisors(dp), group))));
}

void parts_divide(Draft& d, const char* path, std::int64_t parts, Diagnostics& diagnostics) {
  const std::int64_t shards = d.scenario.sharding.shards(d.scenario.parallel.replicas());
  if (!gathers(d.scenario) || parts == 0) return;
  const std::vector<std::int64_t> legal = proper_divisors(shards);
  if (std::find(legal.begin(), legal.end(), parts) != legal.end()) return;
  diagnostics.error(
      d.at(path),
      fmt::format("{} ranks cannot keep a copy together: that takes a divisor of the {} ranks that shard, "
                  "other than 1 "
                  "and {} itself",
                  parts, shards, shards),
      legal.empty() ? "leave it out" : fmt::format("use {}", alternatives(nearest(legal, parts))));
}

void reshard_divides(Draft& d, Diagnostics& diagnostics) {
  parts_divide(d, "sharding.reshard_after_forward", d.scenario.sharding.reshard_to, diagnostics);
}
void secondary_divides(Draft& d, Diagnostics& diagnostics) {
  parts_divide(d, "sharding.secondary_group", d.scenario.sharding.secondary, diagnostics);
}

void one_secondary(Draft& d, Diagnostics& diagnostics) {
  const Sharding& s = d.scenario.sharding;
  if (s.secondary == 0 || (s.reshard_to == 0 && s.reshard_after_forward)) return;
  diagnostics.error(
      d.at("sharding.secondary_group"),
      "the backward gathers from the secondary shards, so weights have to be given back after the forward",
      "set reshard_after_forward to true, or leave secondary_group out");
}

void kept_for_the_step(Draft& d, Diagnostics& diagnostics) {
  const Sharding& s = d.scenario.sharding;
  if (!gathers(d.scenario) || s.reshard_after_backward || (!s.reshard_after_forward && s.reshard_to == 0))
    return;
  diagnostics.error(
      d.at("sharding.reshard_after_backward"),
      "weights that stay after the backward are given back by the next forward (reshard_after_forward)",
      "set reshard_after_forward to false, too");
}

// What stays from a forward to its backward is one instance a layer.
void kept_for_a_microbatch(Draft& d, Diagnostics& diagnostics) {
  const Sharding& s = d.scenario.sharding;
  const Parallel& p = d.scenario.parallel;
  if (!gathers(d.scenario) || !in_flight(p) || !s.reshard_after_backward) return;
  const bool layers = !s.reshard_after_forward, root = !s.root_reshards, part = s.reshard_to > 0;
  if (!layers && !root && !part) return;
  const char* path = layers || part ? "sharding.reshard_after_forward" : "sharding.root_reshards";
  diagnostics.error(
      d.at(path),
      fmt::format("{} keeps several microbatches between forward and backward, and the first backward would "
                  "give back the "
                  "weights that the others still need",
                  p.pp > 1 ? fmt::format("pp={}", p.pp) : "the gpipe schedule"),
      layers ? "set reshard_after_forward to true, or reshard_after_backward to false" : "set it to true");
}

void units_of_layers(Draft& d, Diagnostics& diagnostics) {
  const std::int64_t unit = d.scenario.sharding.unit_layers, every = d.scenario.training.recompute_every;
  const std::vector<std::int64_t>& stages = d.scenario.parallel.layers_of_stage;
  if (!gathers(d.scenario) || unit == 1) return;
  const std::int64_t most = *std::max_element(stages.begin(), stages.end());
  if (unit > most)
    diagnostics.error(d.at("sharding.unit_layers"),
                      fmt::format("a unit of {} layers is more than the {} layers of a stage", unit, most),
                      fmt::format("use at most {}", most));
  else if (d.scenario.training.recompute == Recompute::full && unit % every != 0)
    diagnostics.error(
        d.at("sharding.unit_layers"),
        fmt::format("units of {} layers cut the stretches of {} layers that are recomputed", unit, every),
        fmt::format("use {}", alternatives(nearest_multiples(unit, every))));
}

void stages_of_fsdp(Draft& d, Diagnostics& diagnostics) {
  const int zero = d.scenario.parallel.zero;
  const bool fsdp = d.scenario.framework == Framework::fsdp || d.scenario.framework == Framework::fsdp1;
  if (!fsdp || zero == 0 || zero == 3) return;
  diagnostics.error(
      d.at("parallel.zero"),
      zero == 1
          ? "FSDP has no stage that shards optimizer states alone"
          : "FSDP's SHARD_GRAD_OP is not ZeRO-2: weights are sharded too, and stay from forward to backward",
      "use zero 3, with sharding.reshard_after_forward false for SHARD_GRAD_OP, or 0 for NO_SHARD");
}

void groups_of_framework(Draft& d, Diagnostics& diagnostics) {
  const Sharding& s = d.scenario.sharding;
  const int zero = d.scenario.parallel.zero;
  if (s.group == 0 || d.scenario.parallel.replicas() == 1) return;
  if (d.scenario.framework == Framework::deepspeed && (zero == 1 || zero == 2))
    diagnostics.error(
        d.at("sharding.group"),
        fmt::format("DeepSpeed shards within groups in MiCS only, which is ZeRO-3, but zero={}", zero),
        "use zero 3, or leave the group out");
  if (d.scenario.framework == Framework::ddp && zero == 1)
    diagnostics.error(d.at("sharding.group"), "ZeroRedundancyOptimizer shards over all ranks",
                      "leave the group out, or use framework \"megatron\" or \"fsdp\"");
}

void secondary_of_framework(Draft& d, Diagnostics& diagnostics) {
  const Sharding& s = d.scenario.sharding;
  const Framework f = d.scenario.framework;
  if (f == Framework::fsdp1 && (s.secondary > 0 || s.reshard_to > 0))
    diagnostics.error(d.at(s.secondary > 0 ? "sharding.secondary_group" : "sharding.reshard_after_forward"),
                      "FSDP1 reshards to all ranks of its group, or not at all",
                      "use strategy \"full_shard\" or \"shard_grad_op\", or framework \"fsdp\" for a number");
  if (f == Framework::fsdp && s.secondary > 0)
    diagnostics.error(d.at("sharding.secondary_group"), "a secondary copy that stays (hpZ) is DeepSpeed's",
                      fmt::format("FSDP2's way: \"reshard_after_forward\": {}", s.secondary));
  if (f == Framework::deepspeed && s.reshard_to > 0)
    diagnostics.error(d.at("sharding.reshard_after_forward"), "a number here is FSDP2's",
                      fmt::format("DeepSpeed's way is hpZ: \"secondary_group\": {}", s.reshard_to));
  if (f == Framework::deepspeed && s.secondary > 0 && s.group > 0)
    diagnostics.error(d.at("sharding.secondary_group"), "DeepSpeed does not combine hpZ with MiCS's groups",
                      "leave one of them out");
}

void accumulation_of_deepspeed(Draft& d, Diagnostics& diagnostics) {
  if (d.scenario.framework != Framework::deepspeed || d.scenario.parallel.zero < 2 ||
      d.scenario.sharding.reduce_every_microbatch)
    return;
  diagnostics.error(
      d.at("sharding.reduce"),
      fmt::format("DeepSpeed's no_sync excludes ZeRO-{}, which reduces gradients in every backward because "
                  "it keeps only a shard of them",
                  d.scenario.parallel.zero),
      "use \"microbatch\", or zero 0 or 1");
}

void quantised_traffic_exists(Draft& d, Diagnostics& diagnostics) {
  const Compression& c = d.scenario.compression;
  const int zero = d.scenario.parallel.replicas() > 1 ? d.scenario.parallel.zero : 0;
  if (c.weight_bits > 0 && zero != 3)
    diagnostics.error(
        d.at("compression.weights"),
        fmt::format("quantised weights travel where weights are gathered for use, in ZeRO-3, but zero is {}",
                    zero),
        "use zero 3, or weights \"none\"");
  if (c.gradient_bits > 0 && zero < 2)
    diagnostics.error(
        d.at("compression.gradients"),
        fmt::format(
            "quantised gradients travel to the rank that keeps their shard, in ZeRO-2 and 3, but zero is {}",
            zero),
        "use zero 2 or 3, or gradients \"none\"");
}

void quantised_blocks(Draft& d, Diagnostics& diagnostics) {
  const Compression& c = d.scenario.compression;
  if (c.weight_bits == 0 && c.gradient_bits == 0) return;
  if (c.block % 2 != 0)
    diagnostics.error(d.at("compression.block"),
                      fmt::format("blocks of {} elements do not fill bytes with two codes each", c.block),
                      fmt::format("use {} or {}", c.block - 1, c.block + 1));
}

void quantised_hops(Draft& d, Diagnostics& diagnostics) {
  const std::int64_t node = d.scenario.compression.node_ranks;
  const std::int64_t shards = d.scenario.sharding.shards(d.scenario.parallel.replicas());
  if (d.scenario.compression.gradient_bits == 0 || d.scenario.parallel.zero < 2 || shards % node == 0) return;
  diagnostics.error(d.at("compression.node_ranks"),
                    fmt::format("nodes of {} ranks do not divide the {} ranks that shard", node, shards),
                    fmt::format("use {}", alternatives(nearest(divisors(shards), node))));
}

void quantised_by_framework(Draft& d, Diagnostics& diagnostics) {
  const Compression& c = d.scenario.compression;
  const Framework f = d.scenario.framework;
  if ((c.weight_bits == 0 && c.gradient_bits == 0) || f == Framework::orrery) return;
  const char* path = c.weight_bits > 0 ? "compression.weights" : "compression.gradients";
  if (f != Framework::deepspeed)
    diagnostics.error(d.at(path),
                      fmt::format("quantised collectives (ZeRO++) are DeepSpeed's; {} has none", word(f)),
                      "use framework \"deepspeed\", or \"none\"");
  else if (d.scenario.parallel.zero != 3)
    diagnostics.error(d.at(path), "DeepSpeed's ZeRO++ is a part of ZeRO-3", "use zero 3");
}

void one_compression(Draft& d, Diagnostics& diagnostics) {
  const Compression& c = d.scenario.compression;
  if (c.top_k == 0.0 || c.gradient_bits == 0) return;
  diagnostics.error(d.at("compression.gradients"),
                    "the largest gradients are sent as they are: top_k and codes exclude each other",
                    "leave one of them out");
}

void compression_in_groups(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if (s.compression.top_k == 0.0 || s.parallel.zero == 0) return;
  if (s.sharding.group == 0 && s.recipe.gathered_bytes == 0 && s.sharding.reduce_every_microbatch) return;
  diagnostics.error(
      d.at("compression.top_k"),
      "the largest gradients are sent to all data-parallel ranks, in the type and at the time in which they "
      "are kept: not within sharding groups, under fp32_shards or once a step",
      "leave compression out, or use group \"all\", reduce \"microbatch\" and fp32_shards false");
}

}  // namespace

const std::vector<Rule>& sharding_rules() {
  constexpr std::uint32_t kNeeds = kWorldKnown | kPolicyKnown;
  static const std::vector<Rule> rules = {
      {"shard group", "sharding.group divides dp and is more than one rank", kNeeds, 0, group_divides},
      {"reshard group",
       "reshard_after_forward as a number is a proper divisor of the sharding ranks (fully_shard)", kNeeds, 0,
       reshard_divides},
      {"secondary group", "secondary_group is a proper divisor of the sharding ranks (hpZ)", kNeeds, 0,
       secondary_divides},
      {"one secondary", "secondary shards go with reshard_after_forward", kNeeds, 0, one_secondary},
      {"kept for the step", "weights kept after the backward are kept after the forward", kNeeds, 0,
       kept_for_the_step},
      {"kept for a microbatch", "weights kept from forward to backward need one microbatch at a time",
       kNeeds | kStagesKnown, 0, kept_for_a_microbatch},
      {"units", "units of layers fit a stage and hold whole recomputed stretches",
       kNeeds | kStagesKnown | kTrainingKnown, 0, units_of_layers},
      {"fsdp stages", "FSDP: zero is 0 or 3", kParallelKnown, 0, stages_of_fsdp},
      {"framework groups", "DeepSpeed's shard groups (MiCS) are ZeRO-3; DDP has none", kNeeds, 0,
       groups_of_framework},
      {"framework secondary", "hpZ is DeepSpeed's, reshard_after_forward as a number FSDP2's", kNeeds, 0,
       secondary_of_framework},
      {"deepspeed no_sync", "DeepSpeed: ZeRO-2 and 3 reduce in every microbatch", kNeeds, 0,
       accumulation_of_deepspeed},
      {"quantised traffic", "quantised weights need ZeRO-3, quantised gradients ZeRO-2 or 3", kNeeds, 0,
       quantised_traffic_exists},
      {"quantised blocks", "quantisation blocks are even", kNeeds, 0, quantised_blocks},
      {"quantised hops", "the nodes of quantised gradients divide the sharding ranks", kNeeds, 0,
       quantised_hops},
      {"quantised framework", "DeepSpeed alone has ZeRO++'s quantised collectives, in ZeRO-3", kNeeds, 0,
       quantised_by_framework},
      {"one compression", "top-k compression and quantisation exclude each other", kNeeds, 0,
       one_compression},
      {"top_k groups", "top-k compression goes to all data-parallel ranks", kNeeds, 0, compression_in_groups},
  };
  return rules;
}

}  // namespace orrery::scenarios
