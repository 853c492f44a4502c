// The dropout of one query's probabilities over a stretch of keys: a byte for each, drawn once, applied to as
// many rows as need it. The factor 1 / (1 - p) is left to the caller, who has another product to put it in.
#pragma once

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/cpu/attention/tile_product.h"
#include "kernels/random.h"

namespace orrery::kernels {

struct Probability {
  std::int64_t j, head, query, key;
};

class DroppedRow {
 public:
  DroppedRow(const AttentionDropout& dropout, const AttentionShape& a, const Probability& first,
             std::int64_t count)
      : count_(count) {
    keep_row(dropout.keys[first.j], AttentionDropout::element(a, first.head, first.query, first.key), count,
             drop_threshold(dropout.probability), kept_);
  }
  template <typename W>
  void apply(W* row) const {
    for (std::int64_t i = 0; i < count_; ++i) row[i] *= static_cast<W>(kept_[i]);
  }

 private:
  std::int64_t count_;
  std::uint8_t kept_[kKeyTile];
};

}  // namespace orrery::kernels
