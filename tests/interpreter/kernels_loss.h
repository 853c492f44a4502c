// Cross entropy over a vocabulary cut into blocks of columns: `first_column` is the vocabulary index of column 0.
// stats [T x 4]: max of the logits, sum of exp(x - max), the target's logit (0 where another block has it), the loss.
#pragma once

#include "tests/interpreter/tensor_view.h"

namespace orrery::interpreter {

struct VocabularyBlock {
  ConstView x, labels;
  std::int64_t first_column = 0;
};

void cross_entropy_max(ConstView x, TensorView stats);
void cross_entropy_sum(const VocabularyBlock& block, TensorView stats);
// stats[3] = ln stats[1] + stats[0] - stats[2]; returns scale * its sum over rows.
double cross_entropy_loss(TensorView stats, double scale);
void cross_entropy_backward(const VocabularyBlock& block, ConstView stats, double scale, Output dx);

}  // namespace orrery::interpreter
