// What an attention kernel needs to know beside its operands (docs/schedule.md, section 7). Rows of q, k, v,
// o are position * batch + sequence; head h lies in columns [h d, (h+1) d). Query head h reads key head h /
// (heads / kv_heads): MHA where they are as many, GQA, or MQA with one. Score-shaped tensors are [batch *
// heads * s x s] with row (sequence * heads + head) * s + query; lse is [batch * heads x s] alike.
#pragma once

#include <cmath>
#include <cstdint>

namespace orrery::kernels {

struct AttentionShape {
  std::int64_t batch = 1, sequence = 1;
  std::int64_t heads = 1, kv_heads = 1;  // of this rank; kv_heads divides heads
  std::int64_t head_dim = 1;
  bool causal = true;                            // a key behind its query does not count
  bool alibi = false;                            // scores grow by slope * (key - query)
  std::int64_t first_head = 0, total_heads = 1;  // where this rank's heads lie in the model

  std::int64_t group() const { return heads / kv_heads; }
  std::int64_t score_row(std::int64_t j, std::int64_t head, std::int64_t query) const {
    return (j * heads + head) * sequence + query;
  }
  std::int64_t visible_keys(std::int64_t query) const { return causal ? query + 1 : sequence; }
  double scale() const { return 1.0 / std::sqrt(static_cast<double>(head_dim)); }
  // 2^(-8 (h + 1) / H) of the model's head h of H (Press, Smith, Lewis: "Train short, test long", ICLR 2022).
  double alibi_slope(std::int64_t head) const {
    return std::exp2(-8.0 * static_cast<double>(first_head + head + 1) / static_cast<double>(total_heads));
  }
};

// Dropout on the probabilities inside of the fused kernels; the backward draws the same mask again. A
// probability's element (kernels/random.h) is global head * s² + query * s + key, its key that of its
// sequence.
struct AttentionDropout {
  double probability = 0.0;             // 0: none, and no keys
  const std::uint64_t* keys = nullptr;  // [batch]

  bool drops() const { return probability > 0.0; }
  double scale() const { return 1.0 / (1.0 - probability); }
  static std::int64_t element(const AttentionShape& a, std::int64_t head, std::int64_t query,
                              std::int64_t key) {
    return ((a.first_head + head) * a.sequence + query) * a.sequence + key;
  }
};

}  // namespace orrery::kernels
