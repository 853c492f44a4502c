// Does the model divide over the plan? Tensor parallelism cuts heads, key/value heads and the MLP; sequence
// parallelism cuts positions. (Narayanan et al. 2021, section 2.3; Korthikanti et al. 2022, section 4.2.2.)
#include <numeric>

#include <fmt/format.h>

#include "scenarios/divisors.h"
#include "scenarios/rules.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

// Every tp that cuts heads, key/value heads and MLP evenly, and that the GPUs allow where they are known.
std::vector<std::int64_t> legal_tp(const Draft& d) {
  const models::Architecture& m = d.scenario.model;
  const bool dense = models::expert_layers(m) < m.layers;
  const std::int64_t common = std::gcd(std::gcd(m.heads, m.kv_heads), dense ? m.ffn_hidden : 0);
  std::vector<std::int64_t> legal;
  for (const std::int64_t tp : divisors(common))
    if (!d.knows(kClusterKnown) || d.scenario.cluster.gpus() % tp == 0) legal.push_back(tp);
  return legal;
}

void check_cut(const Draft& d, std::string_view what, std::int64_t count, Diagnostics& diagnostics) {
  const std::int64_t tp = d.scenario.parallel.tp;
  if (count % tp == 0) return;
  diagnostics.error(d.at("parallel.tp"), fmt::format("tp={} does not divide {}={}", tp, what, count),
                    fmt::format("use {}", alternatives(legal_tp(d))));
}

void heads_divide(Draft& d, Diagnostics& diagnostics) {
  check_cut(d, "heads", d.scenario.model.heads, diagnostics);
}

void kv_heads_divide(Draft& d, Diagnostics& diagnostics) {
  if (d.scenario.model.kv_heads != d.scenario.model.heads)
    check_cut(d, "kv_heads", d.scenario.model.kv_heads, diagnostics);
}

void ffn_divides(Draft& d, Diagnostics& diagnostics) {
  if (models::expert_layers(d.scenario.model) == d.scenario.model.layers) return;
  check_cut(d, "ffn_hidden", d.scenario.model.ffn_hidden, diagnostics);
}

void sp_needs_tp(Draft& d, Diagnostics& diagnostics) {
  if (!d.scenario.parallel.sequence_parallel || d.scenario.parallel.tp > 1) return;
  diagnostics.error(d.at("parallel.sp"), "sp splits the sequence over the tensor-parallel group, but tp is 1",
                    "set sp to false, or tp to 2 or more");
}

void sequence_divides(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t s = d.scenario.training.sequence_length;
  if (!p.sequence_parallel || p.cp > 1 || s % p.tp == 0) return;  // with cp: rules_context.cpp
  diagnostics.error(d.at("training.sequence_length"),
                    fmt::format("sequence_length={} does not divide over tp={} (sp is on)", s, p.tp),
                    fmt::format("use {}, or set sp to false", alternatives(nearest_multiples(s, p.tp))));
}

void chunks_divide(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t n = d.scenario.overlap.tensor_chunks, ways = p.cp * (p.sequence_parallel ? p.tp : 1);
  const std::int64_t s = d.scenario.training.sequence_length;
  if (p.tp == 1 || n == 1 || s % ways != 0 || s / ways % n == 0) return;  // the rest of s: said elsewhere
  diagnostics.error(d.at("overlap.tensor_chunks"),
                    fmt::format("tensor_chunks={} does not divide the {} positions of a rank (sequence_length={} / {})", n, s / ways, s,
                                ways),
                    fmt::format("use {}", alternatives(nearest(divisors(s / ways), n))));
}

void chunks_need_sequential_block(Draft& d, Diagnostics& diagnostics) {
  const models::Architecture& m = d.scenario.model;
  if (d.scenario.overlap.tensor_chunks == 1 || d.scenario.parallel.tp == 1) return;
  if (m.parallel_block)
    diagnostics.error(d.at("overlap.tensor_chunks"),
                      "attention and MLP of this model read one gather and share one reduction, which are not cut into chunks",
                      "set tensor_chunks to 1, or use a model with sequential blocks");
  else if (m.experts.count > 0 || m.latent.kv_rank > 0)
    diagnostics.error(d.at("overlap.tensor_chunks"),
                      fmt::format("{} whole rows, which are not cut into chunks",
                                  m.experts.count > 0 ? "experts exchange" : "latent attention gathers"),
                      "set tensor_chunks to 1, or use a dense model");
}

// A pass over whole operands makes those in low precision (schedule/compile/low_precision.h).
void chunks_in_16_bits(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if (s.overlap.tensor_chunks == 1 || s.parallel.tp == 1 || s.recipe.scaling == Scaling::none) return;
  diagnostics.error(d.at("overlap.tensor_chunks"),
                    "low-precision products cast whole operands, which are not cut into chunks",
                    "set tensor_chunks to 1, or use precision \"bf16\"");
}

void sequence_fits_positions(Draft& d, Diagnostics& diagnostics) {
  const models::Architecture& m = d.scenario.model;
  const std::int64_t s = d.scenario.training.sequence_length;
  if (m.position != models::PositionKind::learned || s <= m.max_positions) return;
  diagnostics.error(
      d.at("training.sequence_length"),
      fmt::format("sequence_length={} is beyond the {} learned positions of the model", s, m.max_positions),
      fmt::format("use at most {}, or override the model's max_positions", m.max_positions));
}

}  // namespace

const std::vector<Rule>& shape_rules() {
  static const std::vector<Rule> rules = {
      {"heads", "tp divides the attention heads", kModelKnown | kParallelKnown, 0, heads_divide},
      {"kv_heads", "tp divides the key/value heads", kModelKnown | kParallelKnown, 0, kv_heads_divide},
      {"ffn", "tp divides the MLP's hidden size", kModelKnown | kParallelKnown, 0, ffn_divides},
      {"sp", "sp needs tp > 1", kParallelKnown, 0, sp_needs_tp},
      {"sequence", "with sp, tp divides the sequence length", kParallelKnown | kTrainingKnown, 0,
       sequence_divides},
      {"tensor chunks", "tensor_chunks divides the positions of a rank", kParallelKnown | kTrainingKnown | kPolicyKnown, 0, chunks_divide},
      {"chunked block", "tensor_chunks needs sequential blocks", kModelKnown | kParallelKnown | kPolicyKnown, 0,
       chunks_need_sequential_block},
      {"chunks in 16 bits", "tensor_chunks needs products in 16 bits or more", kParallelKnown | kPolicyKnown, 0, chunks_in_16_bits},
      {"positions", "the sequence fits into a learned position table", kModelKnown | kTrainingKnown, 0,
       sequence_fits_positions},
  };
  return rules;
}

}  // namespace orrery::scenarios
