// Costs are estimates for comparing stages, stated in docs/models/schedules.md; what a stage then takes is derived
// from the schedule as always.
#include "scenarios/balance_stages.h"

#include <algorithm>
#include <limits>

namespace orrery::scenarios {
namespace {

// The dearest stage, then the sum of squares: of cuts with the same dearest stage the most even.
struct Badness {
  double dearest = std::numeric_limits<double>::infinity(), squares = 0.0;
  bool operator<(const Badness& other) const {
    return dearest != other.dearest ? dearest < other.dearest : squares < other.squares;
  }
};

// Bytes of weights, gradients and Adam's states per parameter, of 16 in mixed precision.
double state_bytes(const Parallel& p) {
  const auto dp = static_cast<double>(p.replicas());
  if (p.zero == 3) return 16.0 / dp;
  if (p.zero == 2) return 2.0 + 14.0 / dp;
  return p.zero == 1 ? 4.0 + 12.0 / dp : 16.0;
}

// What a layer keeps of one token, in bytes at 16 bits, without attention's own (schedule/compile/layer_forward.cpp).
double kept_bytes(const Draft& d) {
  const models::Architecture& a = d.scenario.model;
  const auto h = static_cast<double>(a.hidden);
  if (d.scenario.training.recompute == Recompute::full) return 2.0 * h;
  const auto query = static_cast<double>(a.heads * a.head_dim), kv = static_cast<double>(a.kv_heads * a.head_dim);
  const auto ffn = static_cast<double>(a.ffn_hidden);
  const double up = models::gated(a.activation) ? 2.0 * ffn : ffn;
  return 2.0 * (4.0 * h + 2.0 * query + 2.0 * kv + up + ffn) + (d.scenario.training.dropout > 0.0 ? 2.0 * h : 0.0);
}

// Microbatches in flight on the rank of a virtual stage, as docs/models/schedules.md has them, for many microbatches.
double in_flight(const Draft& d, std::int64_t stage) {
  const Parallel& p = d.scenario.parallel;
  const auto pp = static_cast<double>(p.pp), rank = static_cast<double>(stage % p.pp);
  switch (p.schedule) {
    case PipelineSchedule::one_f_one_b:
      return pp - rank;
    case PipelineSchedule::interleaved:
      return (2.0 * (pp - rank - 1.0) + static_cast<double>(p.vpp - 1) * pp + 1.0) / static_cast<double>(p.vpp);
    case PipelineSchedule::zero_bubble_h2:
    case PipelineSchedule::zero_bubble_2p:
      return 2.0 * pp;
    case PipelineSchedule::zero_bubble_auto:
      return p.in_flight > 0 ? static_cast<double>(p.in_flight) : 2.0 * pp;
    case PipelineSchedule::gpipe:  // all of them, alike on every rank
    case PipelineSchedule::breadth_first:
    case PipelineSchedule::zero_bubble_h1:
    case PipelineSchedule::zero_bubble_1p:
    case PipelineSchedule::zero_bubble_v:
    case PipelineSchedule::dual_pipe:
    case PipelineSchedule::dual_pipe_v:
      return pp;
  }
  return pp;
}

}  // namespace

std::vector<std::int64_t> cheapest_cut(std::int64_t layers, std::int64_t stages, const StageCost& cost) {
  const auto n = static_cast<std::size_t>(layers), s = static_cast<std::size_t>(stages);
  std::vector<std::vector<Badness>> best(s + 1, std::vector<Badness>(n + 1));
  std::vector<std::vector<std::size_t>> taken(s + 1, std::vector<std::size_t>(n + 1, 0));
  best[0][0] = {0.0, 0.0};
  for (std::size_t v = 1; v <= s; ++v)
    for (std::size_t take = v == 1 || v == s ? 0 : 1; take <= n; ++take) {
      const double own = cost(static_cast<std::int64_t>(v - 1), static_cast<std::int64_t>(take));
      for (std::size_t l = take; l <= n; ++l) {
        const Badness& before = best[v - 1][l - take];
        const Badness with{std::max(before.dearest, own), before.squares + own * own};
        if (!(with < best[v][l])) continue;
        best[v][l] = with;
        taken[v][l] = take;
      }
    }
  std::vector<std::int64_t> cut(s);
  for (std::size_t v = s, l = n; v > 0; l -= taken[v][l], --v) cut[v - 1] = static_cast<std::int64_t>(taken[v][l]);
  return cut;
}

StageCost time_cost(const Draft& d) {
  const Scenario& sc = d.scenario;
  const models::FlopsOfSequence all =
      models::forward_flops_by_part(sc.model, sc.training.sequence_length, sc.vocab_rows());
  const double layer = (all.projections + all.attention_square + all.mlp) / static_cast<double>(sc.model.layers);
  const std::int64_t last = sc.parallel.pp * sc.parallel.vpp - 1;
  return [=](std::int64_t stage, std::int64_t layers) {
    return static_cast<double>(layers) * layer + (stage == last ? all.head : 0.0);
  };
}

StageCost memory_cost(const Draft& d) {
  const Scenario& sc = d.scenario;
  const auto tp = static_cast<double>(sc.parallel.tp);
  const auto tokens = static_cast<double>(d.micro_batch.value_or(1) * sc.training.sequence_length) / static_cast<double>(sc.parallel.cp);
  const auto states = [&](const std::vector<models::Parameter>& parameters) {
    return static_cast<double>(models::count(parameters)) / tp * state_bytes(sc.parallel);
  };
  const double layer = states(models::layer_parameters(sc.model)), kept = tokens * kept_bytes(d) / tp;
  const double embedding = states(models::embedding_parameters(sc.model, sc.vocab_rows()));
  // Its weights, and fp32 logits of the one microbatch between its forward and its backward.
  const double output = sc.model.tied_embeddings ? embedding : 0.0;
  const double head = states(models::head_parameters(sc.model, sc.vocab_rows())) + output +
                      tokens * 4.0 * static_cast<double>(sc.vocab_rows()) / tp;
  const std::int64_t last = sc.parallel.pp * sc.parallel.vpp - 1;
  std::vector<double> flying;
  for (std::int64_t v = 0; v <= last; ++v) flying.push_back(in_flight(d, v));
  return [=](std::int64_t stage, std::int64_t layers) {
    const double each = layer + kept * flying[static_cast<std::size_t>(stage)];
    return static_cast<double>(layers) * each + (stage == 0 ? embedding : 0.0) + (stage == last ? head : 0.0);
  };
}

}  // namespace orrery::scenarios
