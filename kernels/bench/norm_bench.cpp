// Norms over matrices well beyond the caches, against STREAM. A forward reads x and writes y, a backward reads dy and x
// and writes dx; the rows of weights stay in the cache and are not counted. The promise is 70 %.
#include <vector>

#include "kernels/bench/ceilings.h"
#include "kernels/cpu/norm/norm.h"

namespace orrery::kernels::bench {
namespace {

constexpr std::int64_t kElements = std::int64_t{32} << 20;

template <typename T>
std::vector<T> numbers(std::int64_t count) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(0.01F * static_cast<float>(i % 97) + 0.1F));
  return values;
}

template <typename T, Norm norm>
void BM_NormForward(benchmark::State& state) {
  const std::int64_t columns = state.range(0), rows = kElements / columns;
  const std::vector<T> x = numbers<T>(rows * columns), w = numbers<T>(columns);
  std::vector<T> y(x.size());
  const In<T> bias{norm == Norm::layer_norm ? w.data() : nullptr, 1, columns, columns};
  against_stream(state, 2.0 * static_cast<double>(rows * columns) * sizeof(T), [&] {
    norm_forward<T>(norm, {x.data(), rows, columns, columns}, {w.data(), 1, columns, columns}, bias,
                    {{y.data(), rows, columns, columns}});
  });
}

template <typename T, Norm norm>
void BM_NormBackward(benchmark::State& state) {
  const std::int64_t columns = state.range(0), rows = kElements / columns;
  const std::vector<T> x = numbers<T>(rows * columns), dy = x, w = numbers<T>(columns);
  std::vector<T> dx(x.size());
  std::vector<float> dw(w.size()), dbias(w.size());
  const NormGradients<T, float> gradients{
      {{dx.data(), rows, columns, columns}},
      {{dw.data(), 1, columns, columns}, true},
      {{norm == Norm::layer_norm ? dbias.data() : nullptr, 1, columns, columns}, true}};
  against_stream(state, 3.0 * static_cast<double>(rows * columns) * sizeof(T), [&] {
    norm_backward<T, float>(norm, {dy.data(), rows, columns, columns}, {x.data(), rows, columns, columns},
                            {w.data(), 1, columns, columns}, gradients);
  });
}

template <typename T>
void BM_HeadNormForward(benchmark::State& state) {
  const std::int64_t d = state.range(0), columns = 16 * d, rows = kElements / columns;
  const std::vector<T> x = numbers<T>(rows * columns), w = numbers<T>(d);
  std::vector<T> y(x.size());
  against_stream(state, 2.0 * static_cast<double>(rows * columns) * sizeof(T), [&] {
    head_norm_forward<T>({x.data(), rows, columns, columns}, {w.data(), 1, d, d},
                         {{y.data(), rows, columns, columns}});
  });
}

template <typename T>
void BM_HeadNormBackward(benchmark::State& state) {
  const std::int64_t d = state.range(0), columns = 16 * d, rows = kElements / columns;
  const std::vector<T> x = numbers<T>(rows * columns), dy = x, w = numbers<T>(d);
  std::vector<T> dx(x.size());
  std::vector<float> dw(w.size());
  against_stream(state, 3.0 * static_cast<double>(rows * columns) * sizeof(T), [&] {
    head_norm_backward<T, float>({dy.data(), rows, columns, columns}, {x.data(), rows, columns, columns},
                                 {w.data(), 1, d, d}, {{dx.data(), rows, columns, columns}},
                                 {{dw.data(), 1, d, d}, true});
  });
}

void hidden_sizes(benchmark::internal::Benchmark* b) {
  ceiling_benchmark(b);
  b->ArgName("columns")->Arg(256)->Arg(1024)->Arg(4096);
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
