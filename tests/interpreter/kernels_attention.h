// Attention of this rank's heads. q, o [T x heads*d], k, v [T x kv_heads*d], T rows = position * batch + sequence;
// query head h reads key head h / (heads / kv_heads). score = q k / sqrt(d) (+ ALiBi), causal: key <= query.
// Score-shaped tensors are [batch * heads x s x s], matrix (sequence j, head h) at j * heads + h; lse likewise.
// ALiBi adds slope * (key - query), slope = 2^(-8 (h + 1) / H) of the global head h of H (Press et al. 2022).
// Queries and keys of the fused kernels may be parts of a sequence: query_positions and key_positions say where each stands
// (empty: row = position), `whole` how long the sequence is. A query that sees no key has o = 0 and lse = -infinity.
// Dropout inside the fused kernels acts on the probabilities; its backward draws the same mask again.
#pragma once

#include <vector>

#include "schedule/op.h"
#include "tests/interpreter/dropout.h"
#include "tests/interpreter/tensor_view.h"

namespace orrery::interpreter {

struct AttentionShape {
  std::int64_t batch = 1, sequence = 1, heads = 1, kv_heads = 1, head_dim = 1;
  bool causal = true, alibi = false;
  std::int64_t first_head = 0, total_heads = 1;  // where this rank's heads lie in the model
  std::vector<std::int64_t> query_positions{}, key_positions{};
  std::int64_t whole = 0;  // 0: sequence
  std::int64_t positions() const { return whole > 0 ? whole : sequence; }
  std::int64_t square() const { return positions() * positions(); }
  std::int64_t keys() const { return key_positions.empty() ? sequence : static_cast<std::int64_t>(key_positions.size()); }
  std::int64_t query_position(std::int64_t row) const {
    return query_positions.empty() ? row : query_positions[static_cast<std::size_t>(row)];
  }
  std::int64_t key_position(std::int64_t row) const {
    return key_positions.empty() ? row : key_positions[static_cast<std::size_t>(row)];
  }
  double scale() const;
  double alibi_slope(std::int64_t local_head) const;
};

struct Qkv {
  ConstView q, k, v;
};
struct QkvGradients {
  Output dq, dk, dv;
};

// The o and lse of a part of the keys into those of the others: sums of exponentials add, outputs are weighed by them.
void attention_merge(const AttentionShape& a, ConstView part, ConstView part_lse, TensorView o, TensorView lse);
void attention_forward(const AttentionShape& a, const Qkv& in, const Dropout& dropout, Output o, OptionalOutput lse);
struct AttentionSaved {
  ConstView dout, o, lse;
};
void attention_backward(const AttentionShape& a, const Qkv& in, const AttentionSaved& saved, const Dropout& dropout,
                        const QkvGradients& out);

void attention_scores(const AttentionShape& a, ConstView q, ConstView k, Output y);
void softmax_forward(const AttentionShape& a, ConstView x, Output y);
void softmax_backward(const AttentionShape& a, ConstView y, ConstView dy, Output dx);
void attention_context(const AttentionShape& a, ConstView x, ConstView v, Output o);
void attention_dprobabilities(const AttentionShape& a, ConstView dout, ConstView v, Output dx);
void attention_dvalue(const AttentionShape& a, ConstView x, ConstView dout, Output dv);
void attention_dquery(const AttentionShape& a, ConstView x, ConstView k, Output dq);
void attention_dkey(const AttentionShape& a, ConstView x, ConstView q, Output dk);

// Rotates each head's halves (x1, x2) by position * 10000^(-2i/d): the "rotate half" form of GPT-NeoX and Llama
// (Su et al. 2021). direction +1: forward, -1: backward, which is the inverse rotation.
// `rows`: of the whole microbatch, for each row of x; empty: the same.
void rotary(TensorView x, std::int64_t batch, std::int64_t head_dim, double direction,
            const std::vector<std::int64_t>& rows = {});

}  // namespace orrery::interpreter
