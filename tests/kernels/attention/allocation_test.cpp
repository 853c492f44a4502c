// The second call of a shape takes nothing from the heap.
#include "kernels/cpu/attention/rotary.h"
#include "kernels/cpu/attention/separate_attention.h"
#include "kernels/cpu/attention/softmax.h"
#include "tests/kernels/attention/allocations.h"
#include "tests/kernels/attention/attention_operands.h"

namespace orrery::kernels {
namespace {

TEST(AttentionAllocation, NoneInTheSteadyState) {
  const AttentionCase c = numbered_case(6, 130, 40);  // with ALiBi and dropout
  const AttentionShape& a = c.shape;
  Operands<bf16> x(c);
  const AttentionInput<bf16> in = x.input();
  Tensor<bf16> o(x.rows(), x.q_columns()), gradients(x.rows(), x.q_columns() + 2 * x.k_columns());
  Tensor<float> lse(a.batch * a.heads, a.sequence);
  Tensor<bf16> p(x.score_rows(), a.sequence), dp = p;
  const auto everything = [&] {
    rotary_forward({a.batch, a.head_dim}, x.q_of(x.qkv));
    attention_forward(a, in, x.dropout, o.write(), lse.write());
    attention_backward(a, in, {x.dout.in(), o.in(), lse.in()}, x.dropout, x.gradients(gradients, true));
    attention_scores(a, in.q, in.k, p.write());
    softmax_forward(a, p.in(), p.write());
    attention_context(a, p.in(), in.v, o.write());
    attention_dprobabilities(a, x.dout.in(), in.v, dp.write());
    softmax_backward(a, p.in(), dp.in(), dp.write());
    attention_dkey(a, dp.in(), in.q, {x.k_of(gradients)});
  };
  const std::int64_t before = allocations();
  everything();
  const std::int64_t first = allocations() - before;
  everything();
  EXPECT_GT(first, 0);
  EXPECT_EQ(allocations() - before - first, 0);
}

}  // namespace
}  // namespace orrery::kernels
