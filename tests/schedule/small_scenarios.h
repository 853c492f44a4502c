// Small scenarios as structs, resolved and legal, for tests that compile many plans.
#pragma once

#include <algorithm>
#include <cstdint>

#include "scenarios/rank_order.h"
#include "scenarios/scenario.h"

namespace orrery::schedule {

struct Plan {
  std::int64_t tp = 1, pp = 1, dp = 1, vpp = 1;
  int zero = 0;
  std::int64_t microbatches = 2;
  bool sequence_parallel = false;
  scenarios::PipelineSchedule schedule = scenarios::PipelineSchedule::one_f_one_b;
};

// Learned positions, LayerNorm, biases, GELU, tied, dropout.
inline models::Architecture gpt_style(std::int64_t layers) {
  models::Architecture a;
  a.name = "small gpt";
  a.layers = layers;
  a.hidden = 16;
  a.heads = a.kv_heads = 4;
  a.head_dim = 4;
  a.ffn_hidden = 32;
  a.vocab = 32;
  a.max_positions = 8;
  a.dropout = 0.1;
  return a;
}

// Rotary, RMSNorm, no biases, SwiGLU, grouped queries, untied.
inline models::Architecture llama_style(std::int64_t layers) {
  models::Architecture a = gpt_style(layers);
  a.name = "small llama";
  a.kv_heads = 2;
  a.max_positions = 0;
  a.position = models::PositionKind::rotary;
  a.norm = models::NormKind::rms_norm;
  a.activation = models::ActivationKind::swiglu;
  a.qkv_bias = a.attention_out_bias = a.mlp_bias = a.norm_bias = false;
  a.tied_embeddings = false;
  a.dropout = 0.0;
  return a;
}

inline scenarios::Scenario small_scenario(const models::Architecture& model, const Plan& plan) {
  scenarios::Scenario s;
  s.name = "small";
  s.model = model;
  s.parallel.tp = plan.tp;
  s.parallel.pp = plan.pp;
  s.parallel.dp = plan.dp;
  s.parallel.vpp = plan.vpp;
  s.parallel.zero = plan.zero;
  s.parallel.sequence_parallel = plan.sequence_parallel;
  const bool one_chunk = scenarios::traits(plan.schedule).chunks == scenarios::Chunks::one;
  s.parallel.schedule = plan.vpp > 1 && one_chunk ? scenarios::PipelineSchedule::interleaved : plan.schedule;
  scenarios::place_ranks(s.parallel);
  s.parallel.layers_of_stage.assign(static_cast<std::size_t>(plan.pp * plan.vpp), model.layers / (plan.pp * plan.vpp));
  s.training.micro_batch = 2;
  s.training.microbatches = plan.microbatches;
  s.training.global_batch = 2 * plan.microbatches * plan.dp;
  s.training.sequence_length = 8;
  s.training.precision = hardware::Precision::bf16;
  s.training.dropout = model.dropout;
  s.training.vocab_divisible_by = 1;
  s.recipe.name = "mixed";
  s.overlap.prefetch_units = 1;
  return s;
}

}  // namespace orrery::schedule
