// Products in their three layouts, float and bf16, against OpenBLAS's sgemm: squares, and the shapes of a
// small and a middle transformer (tokens x hidden x inner, head over a vocabulary). The promise is 95 % at
// 1024 x 1024 x 1024.
#include <vector>

#include "kernels/bench/ceilings.h"
#include "kernels/cpu/linear/gemm.h"

namespace orrery::kernels::bench {
namespace {

template <typename T>
struct Operands {
  explicit Operands(std::int64_t m, std::int64_t n, std::int64_t k)
      : a(numbers(m * k)), b(numbers(n * k)), c(numbers(m * n)) {}
  static std::vector<T> numbers(std::int64_t count) {
    std::vector<T> values;
    for (std::int64_t i = 0; i < count; ++i)
      values.push_back(static_cast<T>(0.001F * static_cast<float>(i % 997)));
    return values;
  }
  std::vector<T> a, b, c;
};

template <typename T>
void BM_GemmTn(benchmark::State& state) {
  const std::int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  Operands<T> o(m, n, k);
  against_blas(state, 2.0 * static_cast<double>(m * n * k), [&] {
    gemm_tn<T>({o.a.data(), m, k, k}, {o.b.data(), n, k, k}, {}, {{o.c.data(), m, n, n}});
  });
}

template <typename T>
void BM_GemmNn(benchmark::State& state) {
  const std::int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  Operands<T> o(m, n, k);
  against_blas(state, 2.0 * static_cast<double>(m * n * k), [&] {
    gemm_nn<T>({o.a.data(), m, k, k}, {o.b.data(), k, n, n}, {{o.c.data(), m, n, n}});
  });
}

template <typename T>
void BM_GemmNt(benchmark::State& state) {
  const std::int64_t m = state.range(0), n = state.range(1), k = state.range(2);
  Operands<T> o(m, n, k);
  std::vector<float> gradient(o.c.size());
  against_blas(state, 2.0 * static_cast<double>(m * n * k), [&] {
    gemm_nt<T, float>({o.a.data(), k, m, m}, {o.b.data(), k, n, n}, {{gradient.data(), m, n, n}, true});
  });
}

template <typename T>
void BM_BiasBackward(benchmark::State& state) {
  const std::int64_t rows = state.range(0), columns = state.range(1);
  const std::vector<T> dy = Operands<T>::numbers(rows * columns);
  std::vector<float> sums(static_cast<std::size_t>(columns));
  against_stream(state, static_cast<double>(rows * columns) * sizeof(T), [&] {
    bias_backward<T, float>({dy.data(), rows, columns, columns}, {{sums.data(), 1, columns, columns}, true});
  });
}

void squares(benchmark::internal::Benchmark* b) {
  ceiling_benchmark(b);
  b->ArgNames({"m", "n", "k"});
  for (const std::int64_t size : {64, 128, 256, 512, 1024}) b->Args({size, size, size});
}
void square_1024(benchmark::internal::Benchmark* b) {
  ceiling_benchmark(b);
  b->ArgNames({"m", "n", "k"})->Args({1024, 1024, 1024});
}
void transformers(benchmark::internal::Benchmark* b) {
  ceiling_benchmark(b);
  b->ArgNames({"m", "n", "k"})->Args({512, 256, 256})->Args({512, 768, 256})->Args({512, 256, 1024});
  b->Args({2048, 3072, 768})->Args({256, 50257, 256});
}

BENCHMARK(BM_GemmTn<float>)->Apply(squares)->Apply(transformers);
BENCHMARK(BM_GemmNn<float>)->Apply(squares)->Apply(transformers);
BENCHMARK(BM_GemmNt<float>)->Apply(squares)->Apply(transformers);
BENCHMARK(BM_GemmTn<bf16>)->Apply(squares)->Apply(transformers);
BENCHMARK(BM_GemmNn<bf16>)->Apply(squares)->Apply(transformers);
BENCHMARK(BM_GemmNt<bf16>)->Apply(squares)->Apply(transformers);
BENCHMARK(BM_GemmTn<fp16>)->Apply(square_1024);
BENCHMARK(BM_BiasBackward<float>)->Apply(ceiling_benchmark)->Args({32768, 1024});
BENCHMARK(BM_BiasBackward<bf16>)->Apply(ceiling_benchmark)->Args({32768, 1024});

}  // namespace
}  // namespace orrery::kernels::bench
