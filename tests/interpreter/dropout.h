// Draws of one dropout op: a key, a probability, and where the op's rectangle lies in the whole tensor.
#pragma once

#include <vector>

#include "tests/interpreter/data.h"

namespace orrery::interpreter {

struct Dropout {
  DropoutKey key;
  double probability = 0.0;
  std::int64_t first_sequence = 0;  // global sequence of the microbatch's sequence 0
  std::int64_t batch = 1;           // rows are position * batch + sequence
  std::vector<std::int64_t> rows{};  // of the whole microbatch, for each row that is here; empty: the same
  std::int64_t columns = 0;         // of the whole tensor

  // Hidden states: row r of the shard, column c.
  bool keeps_hidden(std::int64_t r, std::int64_t c) const {
    const std::int64_t row = rows.empty() ? r : rows[static_cast<std::size_t>(r)];
    return keeps(key, first_sequence + row % batch, (row / batch) * columns + c, probability);
  }
  // Attention probabilities of sequence j of the microbatch: global head, query and key position.
  bool keeps_attention(std::int64_t j, std::int64_t head, std::int64_t element_of_square, std::int64_t square) const {
    return keeps(key, first_sequence + j, head * square + element_of_square, probability);
  }
  double scale() const { return 1.0 / (1.0 - probability); }
};

}  // namespace orrery::interpreter
