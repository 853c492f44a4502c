// Norms over matrices well beyond the caches, against STREAM. A forward reads x and writes y, a backward
// reads dy and x and writes dx; the rows of weights stay in the cache and are not counted. The promise is 70
// % for float; 16-bit rows are bound by arithmetic, mostly the rounding of results.
#include "kernels/bench/buffer.h"
#include "kernels/bench/ceilings.h"
#include "kernels/cpu/norm/norm.h"

namespace orrery::kernels::bench {
namespace {

constexpr std::int64_t kElements = std::int64_t{32} << 20;

// The operands of one benchmark: `count` elements each of x, dy and the result, `columns` of weights and
// gradients.
template <typename T>
struct Operands {
  explicit Operands(std::int64_t matrix_columns, std::int64_t weights)
      : columns(matrix_columns), rows(kElements / matrix_columns), w_columns(weights) {
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = dy[i] = static_cast<T>(0.01F * static_cast<float>(i % 97) + 0.1F);
  }
  In<T> matrix(const Buffer<T>& b) const { return {b.data(), rows, columns, columns}; }
  In<T> weight() const { return {w.data(), 1, w_columns, w_columns}; }
  Out<T> result() { return {{y.data(), rows, columns, columns}}; }
  Out<float> gradient(Buffer<float>& b) const { return {{b.data(), 1, w_columns, w_columns}, true}; }
  double bytes(int matrices) const { return static_cast<double>(matrices * rows * columns) * sizeof(T); }

  std::int64_t columns, rows, w_columns;
  Buffer<T> x{kElements, 0}, dy{kElements, 1}, y{kElements, 2}, w{8192, 3, T(1.0F)};
  Buffer<float> dw{8192, 4}, dbias{8192, 5};
};

template <typename T, Norm norm>
void BM_NormForward(benchmark::State& state) {
  Operands<T> o(state.range(0), state.range(0));
  const In<T> bias = norm == Norm::layer_norm ? o.weight() : In<T>{};
  against_stream(state, o.bytes(2),
                 [&] { norm_forward<T>(norm, o.matrix(o.x), o.weight(), bias, o.result()); });
}

template <typename T, Norm norm>
void BM_NormBackward(benchmark::State& state) {
  Operands<T> o(state.range(0), state.range(0));
  const Out<float> dbias = norm == Norm::layer_norm ? o.gradient(o.dbias) : Out<float>{};
  const NormGradients<T, float> gradients{o.result(), o.gradient(o.dw), dbias};
  against_stream(state, o.bytes(3), [&] {
    norm_backward<T, float>(norm, o.matrix(o.dy), o.matrix(o.x), o.weight(), gradients);
  });
}

template <typename T>
void BM_HeadNormForward(benchmark::State& state) {
  Operands<T> o(16 * state.range(0), state.range(0));
  against_stream(state, o.bytes(2), [&] { head_norm_forward<T>(o.matrix(o.x), o.weight(), o.result()); });
}

template <typename T>
void BM_HeadNormBackward(benchmark::State& state) {
  Operands<T> o(16 * state.range(0), state.range(0));
  against_stream(state, o.bytes(3), [&] {
    head_norm_backward<T, float>(o.matrix(o.dy), o.matrix(o.x), o.weight(), o.result(), o.gradient(o.dw));
  });
}

void hidden_sizes(benchmark::internal::Benchmark* b) {
  ceiling_benchmark(b);
  b->ArgName("columns")->Arg(256)->Arg(768)->Arg(1024)->Arg(2048)->Arg(4096);
}
void head_sizes(benchmark::internal::Benchmark* b) {
  ceiling_benchmark(b);
  b->ArgName("d")->Arg(64)->Arg(128);
}

BENCHMARK(BM_NormForward<float, Norm::layer_norm>)->Apply(hidden_sizes);
BENCHMARK(BM_NormForward<float, Norm::rms_norm>)->Apply(hidden_sizes);
BENCHMARK(BM_NormForward<bf16, Norm::layer_norm>)->Apply(hidden_sizes);
BENCHMARK(BM_NormForward<bf16, Norm::rms_norm>)->Apply(hidden_sizes);
BENCHMARK(BM_NormBackward<float, Norm::layer_norm>)->Apply(hidden_sizes);
BENCHMARK(BM_NormBackward<float, Norm::rms_norm>)->Apply(hidden_sizes);
BENCHMARK(BM_NormBackward<bf16, Norm::layer_norm>)->Apply(hidden_sizes);
BENCHMARK(BM_NormBackward<bf16, Norm::rms_norm>)->Apply(hidden_sizes);
BENCHMARK(BM_HeadNormForward<float>)->Apply(head_sizes);
BENCHMARK(BM_HeadNormForward<bf16>)->Apply(head_sizes);
BENCHMARK(BM_HeadNormBackward<float>)->Apply(head_sizes);
BENCHMARK(BM_HeadNormBackward<bf16>)->Apply(head_sizes);

}  // namespace
}  // namespace orrery::kernels::bench
