// Attention over a set of keys from attention over two parts of it: with partial outputs o1, o2 and the logarithms l1, l2
// of their sums of exponentials,
//
//     l = ln(exp(l1) + exp(l2))        o = exp(l1 - l) o1 + exp(l2 - l) o2
//
// (Dao et al. 2022, section 3.1; Liu et al. 2023). A part in which a query saw no key has l2 = -infinity and changes
// nothing. The sum is kept in Wide<T>, however many parts are added. Bound by memory: a read of the part, a read and a write of
// the sum. Instantiated for float, double, bf16, fp16.
#pragma once

#include "kernels/cpu/attention/attention_shape.h"
#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

// part [T x heads*d], part_lse [batch*heads x s] into o, lse of the same sizes.
template <typename T>
void attention_merge(const AttentionShape& a, In<T> part, In<Wide<T>> part_lse, Matrix<Wide<T>> o,
                     Matrix<Wide<T>> lse);

}  // namespace orrery::kernels
