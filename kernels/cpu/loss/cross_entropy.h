// Cross entropy over a vocabulary cut into blocks of columns, in four kernels between which a tensor group
// reduces (Megatron-LM, vocab_parallel_cross_entropy; Narayanan et al. 2021): stats [T x 4] holds, for each
// row, the largest logit, the sum of exp(x - largest), the label's logit and the loss.
//
// L, the type of the logits, is double, float, bf16 or fp16; stats are Wide<L>. Sums over a row are in
// double. Cost: max one pass, sum one pass with an exponential, backward the same and a store.
#pragma once

#include <cstdint>

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

// Logits [T x columns of this block] and labels [T x 1], contiguous; column 0 is vocabulary index
// first_column.
template <typename L>
struct VocabularyBlock {
  In<L> logits;
  In<std::int32_t> labels;
  std::int64_t first_column = 0;
};

enum CrossEntropyStat : std::int64_t { kLargestLogit = 0, kSumOfExp = 1, kLabelLogit = 2, kRowLoss = 3 };

// stats[r, 0] = max of row r
template <typename L>
void cross_entropy_max(In<L> logits, Matrix<Wide<L>> stats);

// stats[r, 1] = sum of exp(x - stats[r, 0]); stats[r, 2] = x[r, label], 0 where the label is in another block
template <typename L>
void cross_entropy_sum(const VocabularyBlock<L>& block, Matrix<Wide<L>> stats);

// stats[r, 3] = ln stats[r, 1] + stats[r, 0] - stats[r, 2]; returns scale times its sum over rows. W: float
// or double.
template <typename W>
double cross_entropy_loss(Matrix<W> stats, double scale);

// dx = scale * factor * (exp(x - stats[r, 0]) / stats[r, 1] - [column is the label]); dx may be the logits.
// `factor` is the loss scale of fp16 training (kernels/cpu/loss/loss_scaler.h), which the loss itself does
// not show.
template <typename L>
void cross_entropy_backward(const VocabularyBlock<L>& block, In<Wide<L>> stats, double scale, double factor,
                            Out<L> dx);

}  // namespace orrery::kernels
