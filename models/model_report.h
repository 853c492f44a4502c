// What there is to say about a model without a plan: how many parameters of which kind, unit by unit, and the
// FLOPs of a token. Pure; `orrery model` prints it. "Active" parameters are those that one token passes
// through: all of them, for a dense model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/architecture.h"

namespace orrery::models {

// Where the parameters are. The kinds sum to the total.
struct ParametersByKind {
  std::int64_t token_embedding = 0;
  std::int64_t position_embedding = 0;
  std::int64_t attention = 0;  // query, key, value and output weights and biases
  std::int64_t mlp = 0;      // dense MLPs and shared experts
  std::int64_t experts = 0;
  std::int64_t routers = 0;
  std::int64_t norms = 0;   // all of them, those of queries and keys included
  std::int64_t output = 0;  // output projection where it is not tied, and its bias
  std::int64_t total() const;
};

// One kind of unit, as the model repeats it.
struct UnitReport {
  std::string unit;         // "embedding", "layer", "layer with experts", "expert", "head"
  std::int64_t copies = 0;  // 1, dense layers, layers with experts, all experts, 1
  std::vector<Parameter> parameters;
  std::int64_t count = 0;               // of one copy
  std::int64_t weight_bytes_16bit = 0;  // of one copy: 2 B a parameter
  std::int64_t state_bytes =
      0;  // of one copy, unsharded: 18 B a parameter (2 weight, 4 gradient, 4 + 8 Adam in fp32)
};

// Model FLOPs of one token in a sequence of `sequence_length`: the sequence's, divided by its length.
struct TokenFlops {
  double projections = 0.0;                           // forward: query, key, value, attention output
  double mlp = 0.0;                                   // forward, active experts and routers too
  double head = 0.0;                                  // forward: logits
  double attention_full = 0.0;                        // forward: Q K^T and P V, the whole square
  double attention_causal = 0.0;                      // forward: half of it
  double forward_full = 0.0, forward_causal = 0.0;    // sums
  double training_full = 0.0, training_causal = 0.0;  // x3: backward counts twice
};

struct ModelReport {
  Architecture architecture;
  std::int64_t parameters = 0;  // with the unpadded vocabulary
  std::int64_t active_parameters = 0;
  std::int64_t prediction_parameters = 0;  // of prediction modules, which the total leaves out
  ParametersByKind by_kind;
  std::vector<UnitReport> units;  // those that there are
  std::int64_t sequence_length = 0;
  TokenFlops flops_per_token;
};

// `sequence_length` >= 1. The vocabulary is the model's own, unpadded.
ModelReport report_model(const Architecture& a, std::int64_t sequence_length);

}  // namespace orrery::models
