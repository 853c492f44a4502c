// Is the plan computable? Sizes of tensors and of a step are bounded here once, so that the rooms below can
// multiply in int64 and count picoseconds (the clock ends after 106 days) without a check at every place.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "scenarios/rules.h"

namespace orrery::scenarios {
namespace {

// A rank whose activations exceed this is beyond any GPU by a factor of a thousand.
constexpr double kActivationBytesMax = 1e15;
// At full speed; real kernels run at a tenth of the peak or better, and the clock holds 9.2e6 s.
constexpr double kStepSecondsMax = 2e5;

// Memory of a prediction grows with ranks x relations (docs/models/engine.md, "Cost").
constexpr std::int64_t kRanksMax = std::int64_t{1} << 20;

constexpr std::int64_t kPipelineActionsMax = 50'000'000;

constexpr double kBucketsMax = 2000.0;

// Tokens of a microbatch times everything a layer keeps for one token, and the s x s scores of separate
// attention.
double activation_bytes(const Scenario& s) {
  const models::Architecture& m = s.model;
  const double tokens =
      static_cast<double>(s.training.micro_batch) * static_cast<double>(s.training.sequence_length);
  const double layer =
      34.0 * static_cast<double>(m.hidden) + 8.0 * static_cast<double>(m.ffn_hidden) +
      8.0 * static_cast<double>(m.heads) *
          (static_cast<double>(m.head_dim) + static_cast<double>(s.training.sequence_length));
  const double logits = 8.0 * static_cast<double>(m.vocab);
  return tokens * (layer * static_cast<double>(m.layers) + logits) /
         static_cast<double>(s.parallel.tp * s.parallel.pp);
}

// 6 FLOPs a parameter and token, the attention square, and recomputation.
double step_flops(const Scenario& s) {
  const models::Architecture& m = s.model;
  const double tokens =
      static_cast<double>(s.training.global_batch) * static_cast<double>(s.training.sequence_length);
  const double matrices = 8.0 * static_cast<double>(models::parameter_count(m));
  const double square = 16.0 * static_cast<double>(m.layers) * static_cast<double>(m.heads * m.head_dim) *
                        static_cast<double>(s.training.sequence_length);
  return tokens * (matrices + square);
}

void ranks_bounded(Draft& d, Diagnostics& diagnostics) {
  const std::int64_t world = d.scenario.parallel.world();
  if (world <= kRanksMax) return;
  diagnostics.error(d.at("cluster"),
                    fmt::format("{} ranks are more than the {} that can be simulated", world, kRanksMax),
                    "fewer nodes");
}

void activations_bounded(Draft& d, Diagnostics& diagnostics) {
  const double bytes = activation_bytes(d.scenario);
  if (bytes <= kActivationBytesMax) return;
  diagnostics.error(
      d.at("training.micro_batch"),
      fmt::format("one microbatch of {} sequences of {} tokens has about {:.2g} TB of activations a rank",
                  d.scenario.training.micro_batch, d.scenario.training.sequence_length, bytes * 1e-12),
      "lower micro_batch or sequence_length");
}

void step_bounded(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  const double peak =
      s.cluster.gpu.peak(s.training.precision).value() * static_cast<double>(s.parallel.world());
  if (!(peak > 0.0)) return;  // the precision rule has reported it
  const double seconds = step_flops(s) / peak;
  if (seconds <= kStepSecondsMax) return;
  diagnostics.error(d.at("training.global_batch"),
                    fmt::format("one step needs {:.3g} days at the GPUs' peak: beyond the simulator's clock",
                                seconds / 86400.0),
                    "lower global_batch or sequence_length, or use more GPUs");
}

// Compiling writes down what every stage does with every microbatch and chunk.
void pipeline_bounded(Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t m = d.scenario.training.microbatches;
  const __int128 actions = static_cast<__int128>(p.pp * p.vpp) * m;
  if (actions <= kPipelineActionsMax) return;
  diagnostics.error(d.at("training.global_batch"),
                    fmt::format("{} microbatches on pp={} x vpp={} are more than {} pipeline steps", m, p.pp,
                                p.vpp, kPipelineActionsMax),
                    "raise micro_batch, or lower global_batch");
}

// A bucket smaller than a layer or the embedding cuts it into messages of their own.
void buckets_bounded(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if (s.overlap.bucket_elements == 0 || s.parallel.dp == 1) return;
  const double embedding = static_cast<double>(s.model.vocab) * static_cast<double>(s.model.hidden);
  const double layer = 
      static_cast<double>(models::largest_layer_unit(s.model, s.model.experts.count / s.parallel.ep));
  const double largest = std::max(embedding, layer) / static_cast<double>(s.parallel.tp);
  const double pieces = largest / static_cast<double>(s.overlap.bucket_elements);
  if (pieces <= kBucketsMax) return;
  const char* path = d.written("overlap.bucket_size") ? "overlap.bucket_size" : "overlap.bucket_elements";
  diagnostics.error(
      d.at(path),
      fmt::format("buckets of {} gradients cut one layer or embedding into {:.3g} messages",
                  s.overlap.bucket_elements, pieces),
      fmt::format("use at least {:.0f} elements, or 0 for one bucket", std::ceil(largest / kBucketsMax)));
}

}  // namespace

const std::vector<Rule>& size_rules() {
  static const std::vector<Rule> rules = {
      {"ranks", "the ranks can be told apart in memory", kWorldKnown, 0, ranks_bounded},
      {"activations", "the tensors of a microbatch can be counted", kModelKnown | kBatchKnown, 0,
       activations_bounded},
      {"clock", "a step fits the simulator's clock", kModelKnown | kClusterKnown | kBatchKnown, 0,
       step_bounded},
      {"pipeline", "the pipeline's order can be written down", kBatchKnown | kStagesKnown, 0,
       pipeline_bounded},
      {"buckets", "buckets do not cut a layer to shreds", kModelKnown | kWorldKnown | kPolicyKnown, 0,
       buckets_bounded},
  };
  return rules;
}

}  // namespace orrery::scenarios
