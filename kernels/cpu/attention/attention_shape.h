// What an attention kernel needs to know beside its operands (docs/schedule.md, section 7). Rows of q, k, v,
// o are position * batch + sequence; head h lies in columns [h d, (h+1) d). Query head h reads key head h /
// (heads / kv_heads): MHA where they are as many, GQA, or MQA with one. Score-shaped tensors are [batch *
// heads * s x s] with row (sequence * heads + head) * s + query; lse is [batch * heads x s] alike.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

namespace orrery::kernels {

// Rows [row, row + count) of each sequence stand at the positions from `position` on. Where a sequence is spread over
// ranks, an operand of the fused kernels holds a few such runs of it, in any order; they cover its rows.
struct PositionRun {
  std::int64_t row = 0, count = 0, position = 0;
};

// Calls visit(run); without runs, one in which row and position are the same.
template <typename Visit>
void for_each_run(std::span<const PositionRun> runs, std::int64_t rows, Visit&& visit) {
  if (runs.empty()) return visit(PositionRun{0, rows, 0});
  for (const PositionRun& run : runs) visit(run);
}

struct AttentionShape {
  std::int64_t batch = 1, sequence = 1;
  std::int64_t heads = 1, kv_heads = 1;  // of this rank; kv_heads divides heads
  std::int64_t head_dim = 1;
  bool causal = true;                            // a key behind its query does not count
  bool alibi = false;                            // scores grow by slope * (key - query)
  std::int64_t first_head = 0, total_heads = 1;  // where this rank's heads lie in the model
  // Fused kernels only: rows of k and v in a sequence (0: as many as queries), positions of the whole sequence (0: as
  // many as queries), and which of them queries and keys are.
  std::int64_t keys = 0, positions = 0;
  std::span<const PositionRun> query_runs{}, key_runs{};

  std::int64_t key_count() const { return keys > 0 ? keys : sequence; }
  std::int64_t position_count() const { return positions > 0 ? positions : sequence; }
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
// probability's element (kernels/random.h) is global head * s² + query * s + key, positions of the whole
// sequence; its key is that of its sequence.
struct AttentionDropout {
  double probability = 0.0;             // 0: none, and no keys
  const std::uint64_t* keys = nullptr;  // [batch]

  bool drops() const { return probability > 0.0; }
  double scale() const { return 1.0 / (1.0 - probability); }
  static std::int64_t element(const AttentionShape& a, std::int64_t head, std::int64_t query,
                              std::int64_t key) {
    return ((a.first_head + head) * a.position_count() + query) * a.position_count() + key;
  }
};

}  // namespace orrery::kernels
