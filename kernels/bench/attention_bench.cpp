// Attention: the fused kernels and the products of the separate ones against OpenBLAS's sgemm, softmax and
// rotary, which are bound by memory, against STREAM. FLOPs are those of the definition: causal counts half,
// forward two products, backward five (scores computed again). The promise is half of sgemm at s = 1024, d =
// 64, forward.
#include <vector>

#include "kernels/bench/ceilings.h"
#include "kernels/cpu/attention/fused_attention.h"
#include "kernels/cpu/attention/merge.h"
#include "kernels/cpu/attention/rotary.h"
#include "kernels/cpu/attention/separate_attention.h"
#include "kernels/cpu/attention/softmax.h"

namespace orrery::kernels::bench {
namespace {

template <typename T>
class Numbers {
 public:
  Numbers(std::int64_t rows, std::int64_t columns) : rows_(rows), columns_(columns) {
    for (std::int64_t i = 0; i < rows * columns; ++i)
      values_.push_back(static_cast<T>(0.05F * static_cast<float>(i * 31 % 89 - 44)));
  }
  Matrix<T> view() { return {values_.data(), rows_, columns_, columns_}; }
  In<T> in() { return view(); }
  Out<T> out() { return {view()}; }

 private:
  std::vector<T> values_;
  std::int64_t rows_, columns_;
};

AttentionShape shape_of(std::int64_t sequence, std::int64_t heads, std::int64_t kv_heads,
                        std::int64_t head_dim) {
  return {.batch = 1, .sequence = sequence, .heads = heads, .kv_heads = kv_heads, .head_dim = head_dim};
}

template <typename T>
struct Operands {
  explicit Operands(const AttentionShape& a)
      : q(a.sequence, a.heads * a.head_dim),
        dout(q),
        o(q),
        dq(q),
        k(a.sequence, a.kv_heads * a.head_dim),
        v(k),
        dk(k),
        dv(k),
        lse(a.heads, a.sequence) {}
  AttentionInput<T> input() { return {q.in(), k.in(), v.in()}; }
  Numbers<T> q, dout, o, dq, k, v, dk, dv;
  Numbers<Wide<T>> lse;
};

double product_flops(const AttentionShape& a, double products) {
  const auto s = static_cast<double>(a.sequence);
  return products * 2.0 * s * s * static_cast<double>(a.heads * a.head_dim) * (a.causal ? 0.5 : 1.0);
}

constexpr std::uint64_t kSequenceKey = 7;

// s, heads, kv_heads, d, dropout in per cent
template <typename T>
void BM_FusedForward(benchmark::State& state) {
  const AttentionShape a = shape_of(state.range(0), state.range(1), state.range(2), state.range(3));
  const AttentionDropout dropout{0.01 * static_cast<double>(state.range(4)), &kSequenceKey};
  Operands<T> x(a);
  against_blas(state, product_flops(a, 2.0),
               [&] { attention_forward(a, x.input(), dropout, x.o.out(), x.lse.out()); });
}

template <typename T>
void BM_FusedBackward(benchmark::State& state) {
  const AttentionShape a = shape_of(state.range(0), state.range(1), state.range(2), state.range(3));
  const AttentionDropout dropout{0.01 * static_cast<double>(state.range(4)), &kSequenceKey};
  Operands<T> x(a);
  attention_forward(a, x.input(), dropout, x.o.out(), x.lse.out());
  against_blas(state, product_flops(a, 5.0), [&] {
    attention_backward(a, x.input(), {x.dout.in(), x.o.in(), x.lse.in()}, dropout,
                       {x.dq.out(), x.dk.out(), x.dv.out()});
  });
}

// A step of a ring of two with balanced causal halves: all queries see the first half of another member's keys, or the
// second half of the queries all of them: half the work of a square, as on the diagonal.
template <typename T>
void BM_FusedStep(benchmark::State& state) {
  AttentionShape a = shape_of(state.range(0), 8, 8, 64);
  const std::int64_t half = a.sequence / 2;
  const bool earlier = state.range(1) != 0;
  const std::vector<PositionRun> outer{{0, half, 0}, {half, half, 3 * half}}, inner{{0, 2 * half, half}};
  a.positions = 4 * half;
  a.query_runs = earlier ? inner : outer;
  a.key_runs = earlier ? outer : inner;
  Operands<T> x(a);
  against_blas(state, product_flops(a, 2.0), [&] { attention_forward(a, x.input(), {}, x.o.out(), x.lse.out()); });
}

// The sum of two parts, in 32 bits.
template <typename T>
void BM_Merge(benchmark::State& state) {
  const AttentionShape a = shape_of(8192, 32, 32, 128);
  Operands<T> x(a);
  Numbers<Wide<T>> sum(8192, 4096), lse(a.heads, a.sequence);
  against_stream(state, 8192.0 * 4096.0 * (sizeof(T) + 2.0 * sizeof(Wide<T>)),
                 [&] { attention_merge<T>(a, x.o.in(), x.lse.in(), sum.view(), lse.view()); });
}

enum class Product { scores, context, dvalue };

template <typename T, Product product>
void BM_Separate(benchmark::State& state) {
  AttentionShape a = shape_of(state.range(0), 8, 8, state.range(1));
  a.causal = false;
  Operands<T> x(a);
  Numbers<T> scores(a.heads * a.sequence, a.sequence);
  against_blas(state, product_flops(a, 1.0), [&] {
    if (product == Product::scores) attention_scores(a, x.q.in(), x.k.in(), scores.out());
    if (product == Product::context) attention_context(a, scores.in(), x.v.in(), x.o.out());
    if (product == Product::dvalue) attention_dvalue(a, scores.in(), x.dout.in(), x.dv.out());
  });
}

// Bytes that must be moved: of causal rows only what the query sees is read, all of a row is written.
double softmax_bytes(const AttentionShape& a, double inputs, std::size_t element) {
  const double pairs = static_cast<double>(a.heads) * static_cast<double>(a.sequence * a.sequence);
  return pairs * (inputs * (a.causal ? 0.5 : 1.0) + 1.0) * static_cast<double>(element);
}

// s, causal
template <typename T>
void BM_SoftmaxForward(benchmark::State& state) {
  AttentionShape a =
      shape_of(state.range(0), (std::int64_t{32} << 20) / (state.range(0) * state.range(0)), 1, 64);
  a.causal = state.range(1) != 0;
  Numbers<T> x(a.heads * a.sequence, a.sequence), y(x);
  against_stream(state, softmax_bytes(a, 1.0, sizeof(T)), [&] { softmax_forward(a, x.in(), y.out()); });
}

template <typename T>
void BM_SoftmaxBackward(benchmark::State& state) {
  AttentionShape a =
      shape_of(state.range(0), (std::int64_t{32} << 20) / (state.range(0) * state.range(0)), 1, 64);
  a.causal = state.range(1) != 0;
  Numbers<T> y(a.heads * a.sequence, a.sequence), dy(y), dx(y);
  against_stream(state, softmax_bytes(a, 2.0, sizeof(T)),
                 [&] { softmax_backward(a, y.in(), dy.in(), dx.out()); });
}

// 8192 positions of 4096 columns, in place
template <typename T>
void BM_Rotary(benchmark::State& state) {
  Numbers<T> x(8192, 4096);
  against_stream(state, 2.0 * 8192.0 * 4096.0 * sizeof(T), [&] {
    rotary_forward({1, state.range(0)}, x.view());
  });
}

void fused_shapes(benchmark::internal::Benchmark* b) {
  ceiling_benchmark(b);
  b->ArgNames({"s", "heads", "kv", "d", "dropout"});
  for (const std::int64_t s : {64, 256, 1024, 2048}) b->Args({s, 8, 8, 64, 0});
  b->Args({1024, 8, 8, 128, 0})
      ->Args({1024, 8, 2, 64, 0})
      ->Args({1024, 8, 8, 80, 0})
      ->Args({1024, 8, 8, 64, 10});
}
void step_shapes(benchmark::internal::Benchmark* b) {
  ceiling_benchmark(b);
  b->ArgNames({"s", "earlier"})->Args({1024, 0})->Args({1024, 1});
}
void one_shape(benchmark::internal::Benchmark* b) { ceiling_benchmark(b); }
void separate_shapes(benchmark::internal::Benchmark* b) {
  ceiling_benchmark(b);
  b->ArgNames({"s", "d"})->Args({256, 64})->Args({1024, 64})->Args({1024, 128});
}
void softmax_shapes(benchmark::internal::Benchmark* b) {
  ceiling_benchmark(b);
  b->ArgNames({"s", "causal"})->Args({256, 0})->Args({1024, 0})->Args({1024, 1});
}
void head_sizes(benchmark::internal::Benchmark* b) {
  ceiling_benchmark(b);
  b->ArgName("d")->Arg(64)->Arg(128);
}

BENCHMARK(BM_FusedForward<float>)->Apply(fused_shapes);
BENCHMARK(BM_FusedForward<bf16>)->Apply(fused_shapes);
BENCHMARK(BM_FusedBackward<float>)->Apply(fused_shapes);
BENCHMARK(BM_FusedBackward<bf16>)->Apply(fused_shapes);
BENCHMARK(BM_FusedStep<float>)->Apply(step_shapes);
BENCHMARK(BM_FusedStep<bf16>)->Apply(step_shapes);
BENCHMARK(BM_Merge<float>)->Apply(one_shape);
BENCHMARK(BM_Merge<bf16>)->Apply(one_shape);
BENCHMARK(BM_Separate<float, Product::scores>)->Apply(separate_shapes);
BENCHMARK(BM_Separate<float, Product::context>)->Apply(separate_shapes);
BENCHMARK(BM_Separate<float, Product::dvalue>)->Apply(separate_shapes);
BENCHMARK(BM_Separate<bf16, Product::scores>)->Apply(separate_shapes);
BENCHMARK(BM_Separate<bf16, Product::context>)->Apply(separate_shapes);
BENCHMARK(BM_Separate<bf16, Product::dvalue>)->Apply(separate_shapes);
BENCHMARK(BM_SoftmaxForward<float>)->Apply(softmax_shapes);
BENCHMARK(BM_SoftmaxForward<bf16>)->Apply(softmax_shapes);
BENCHMARK(BM_SoftmaxBackward<float>)->Apply(softmax_shapes);
BENCHMARK(BM_SoftmaxBackward<bf16>)->Apply(softmax_shapes);
BENCHMARK(BM_Rotary<float>)->Apply(head_sizes);
BENCHMARK(BM_Rotary<bf16>)->Apply(head_sizes);

}  // namespace
}  // namespace orrery::kernels::bench
