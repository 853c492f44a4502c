// Everything random of a run, keyed by global indices and by nothing else, so that every plan trains the same model
// on the same batch: tokens by (step, global sequence, position), weights by (name, row, column), dropout by (step,
// layer, site, global sequence, global element). Sharding, microbatching and recomputation repeat the draws.
#pragma once

#include <cstdint>
#include <string_view>

namespace orrery::interpreter {

// The global sequence of sequence `j` of a microbatch: data-parallel rank d owns a contiguous run of the batch.
struct BatchShape {
  std::int64_t batch = 1;         // sequences of a microbatch
  std::int64_t microbatches = 1;  // of a data-parallel rank
  std::int64_t sequence = 1;      // tokens
  std::int64_t first_sequence(std::int64_t data_index, std::int64_t microbatch) const {
    return (data_index * microbatches + microbatch) * batch;
  }
};

struct TokenKey {
  std::int64_t seed = 1, step = 0, sequence = 0, position = 0;
};
// The label of a position is the token of the next one (so a sequence has one token more than positions).
std::int64_t token(const TokenKey& key, std::int64_t vocab);

// Norm weights lie around 1, everything else around 0. Biases are not left at zero: a wrong bias must show.
double initial_weight(std::string_view name, std::int64_t row, std::int64_t column, std::int64_t seed);

inline constexpr std::int64_t kEmbeddingLayer = -1;
inline constexpr std::int64_t kHeadLayer = -2;

struct DropoutKey {
  std::int64_t seed = 1, step = 0, layer = 0, site = 0;
};
// Whether element `element` (of the whole, unsharded tensor of one sequence) is kept.
bool keeps(const DropoutKey& key, std::int64_t sequence, std::int64_t element, double probability);

}  // namespace orrery::interpreter
