// What context parallelism asks of a plan. Along the ring a sequence is cut into 2 ring chunks (schedule/positions.h); heads
// that are exchanged must divide over the ranks that exchange them; only fused attention has kernels for parts of a
// sequence; and gradients are summed over data x context, which must be neighbours among the ranks.
#include <numeric>

#include <fmt/format.h>

#include "scenarios/divisors.h"
#include "scenarios/rules.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

void context_beside_data(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (adjacent(p, d.order, {"cp", "dp"})) return;
  diagnostics.error(d.at("parallel.order"),
                    "gradients are summed over the ranks of dp x cp, which this order does not put side by side",
                    "name cp right before dp, as in \"tp-cp-ep-dp-pp\"");
}

void context_cuts_sequence(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t s = d.scenario.training.sequence_length, ring = p.cp / p.ulysses;
  if (p.cp == 1) return;
  const std::int64_t rows = p.cp * (p.sequence_parallel ? p.tp : 1);
  const std::int64_t unit = ring > 1 ? std::lcm(rows, 2 * ring) : rows;
  if (s % unit == 0) return;
  const char* why = ring > 1 ? "2 chunks a member of the ring, which balance the causal mask" : "one part a rank";
  diagnostics.error(d.at("training.sequence_length"),
                    fmt::format("sequence_length={} is no multiple of {}: cp={}{} cuts it ({})", s, unit, p.cp,
                                p.sequence_parallel ? fmt::format(" x tp={} (sp is on)", p.tp) : "", why),
                    fmt::format("use {}, or a smaller cp", alternatives(nearest_multiples(s, unit))));
}

void exchanged_heads_divide(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const models::Architecture& m = d.scenario.model;
  if (p.ulysses == 1 || m.heads % p.tp != 0 || m.kv_heads % p.tp != 0) return;  // tp: said elsewhere
  const std::int64_t heads = m.heads / p.tp, kv_heads = m.kv_heads / p.tp, both = std::gcd(heads, kv_heads);
  if (both % p.ulysses == 0) return;
  const bool hybrid = p.context_method == ContextMethod::hybrid;
  std::vector<std::int64_t> legal;
  for (const std::int64_t ways : divisors(both))
    if (ways > 1 && p.cp % ways == 0 && (!hybrid || ways < p.cp)) legal.push_back(ways);
  const std::string some = legal.empty() ? std::string() : alternatives(nearest(legal, p.ulysses));
  const char* ring = "cp_method \"ring\"";
  const std::string hint = legal.empty() ? fmt::format("use {}", ring)
                           : hybrid      ? fmt::format("use ulysses {}, or {}", some, ring)
                                         : fmt::format("use cp {}, or cp_method \"hybrid\" with ulysses {}, or {}", some, some, ring);
  diagnostics.error(d.at(hybrid ? "parallel.ulysses" : "parallel.cp"),
                    fmt::format("ulysses={} exchanges heads, but a tensor rank has {} heads and {} key/value heads", p.ulysses,
                                heads, kv_heads),
                    hint);
}

void context_needs_fused_attention(Draft& d, Diagnostics& diagnostics) {
  if (d.scenario.parallel.cp == 1 || d.scenario.kernels.fused_attention) return;
  diagnostics.error(d.at(d.written("kernels.fused_attention") ? "kernels.fused_attention" : "parallel.cp"),
                    fmt::format("cp={} needs fused attention: separate kernels write all scores of a sequence", d.scenario.parallel.cp),
                    "set kernels.fused_attention to true, or cp to 1");
}

void context_of_deepspeed(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  if (p.cp == 1) return;
  if (d.scenario.framework == Framework::deepspeed && p.context_method != ContextMethod::ulysses)
    diagnostics.error(d.at("parallel.cp_method"),
                      fmt::format("DeepSpeed's sequence parallelism exchanges heads (Ulysses), but cp_method is {}",
                                  word(p.context_method)),
                      "use cp_method \"ulysses\", or framework \"megatron\" or \"orrery\"");
  if (d.scenario.framework == Framework::deepspeed && p.pp > 1)
    diagnostics.error(d.at("parallel.cp"), fmt::format("DeepSpeed has no pipeline with sequence parallelism, but cp={} and pp={}", p.cp, p.pp),
                      "set cp or pp to 1, or use framework \"megatron\" or \"orrery\"");
}

}  // namespace

const std::vector<Rule>& context_rules() {
  static const std::vector<Rule> rules = {
      {"context order", "cp and dp are neighbours in the order", kWorldKnown, 0, context_beside_data},
      {"context sequence", "cp cuts the sequence, along a ring into 2 chunks a member", kWorldKnown | kTrainingKnown | kContextKnown, 0,
       context_cuts_sequence},
      {"context heads", "heads and key/value heads of a tensor rank divide by ulysses", kModelKnown | kParallelKnown | kContextKnown, 0,
       exchanged_heads_divide},
      {"context kernels", "context parallelism needs fused attention", kParallelKnown | kPolicyKnown, 0, context_needs_fused_attention},
      {"deepspeed context", "DeepSpeed: cp is ulysses, and not in a pipeline", kParallelKnown, 0, context_of_deepspeed},
  };
  return rules;
}

}  // namespace orrery::scenarios
