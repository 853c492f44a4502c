// Pointwise kernels over matrices well beyond the caches, against STREAM; what is read and written once
// counts. The promises: copy, cast, add and bias_dropout_add without dropout 70 %, GELU and SwiGLU both ways
// 45 %, dropout 25 %.
#include <cstdint>
#include <vector>

#include "kernels/bench/ceilings.h"
#include "kernels/cpu/pointwise/activation.h"
#include "kernels/cpu/pointwise/copy.h"
#include "kernels/cpu/pointwise/dropout.h"

namespace orrery::kernels::bench {
namespace {

constexpr std::int64_t kRows = 8192, kColumns = 4096;
constexpr double kElements = static_cast<double>(kRows * kColumns);

// A matrix of numbers on both sides of 0.
template <typename T>
class Numbers {
 public:
  explicit Numbers(std::int64_t columns = kColumns, std::int64_t rows = kRows)
      : rows_(rows), columns_(columns) {
    values_.reserve(static_cast<std::size_t>(rows * columns));
    for (std::int64_t i = 0; i < rows * columns; ++i)
      values_.push_back(static_cast<T>(0.05F * static_cast<float>(i % 97) - 2.5F));
  }
  Matrix<T> view() { return {values_.data(), rows_, columns_, columns_}; }
  In<T> in() { return view(); }
  Out<T> write() { return {view(), false}; }

 private:
  std::int64_t rows_, columns_;
  std::vector<T> values_;
};

template <typename T>
void BM_Fill(benchmark::State& state) {
  Numbers<T> y;
  against_stream(state, kElements * sizeof(T), [&] { fill(y.view()); });
}

template <typename From, typename To>
void BM_Cast(benchmark::State& state) {
  Numbers<From> x;
  Numbers<To> y;
  against_stream(state, kElements * (sizeof(From) + sizeof(To)), [&] { cast<From, To>(x.in(), y.write()); });
}

template <typename From, typename To>
void BM_Add(benchmark::State& state) {
  Numbers<From> x;
  Numbers<To> y;
  against_stream(state, kElements * (sizeof(From) + 2 * sizeof(To)),
                 [&] { add<From, To>(x.in(), y.view()); });
}

template <typename T, Activation kind>
void BM_ActivationForward(benchmark::State& state) {
  constexpr std::int64_t kWide = is_gated(kind) ? 2 * kColumns : kColumns;
  Numbers<T> x(kWide), y, bias(kWide, 1);
  const double bytes = kElements * (is_gated(kind) ? 3 : 2) * sizeof(T);
  against_stream(state, bytes, [&] { activation_forward<T>(kind, x.in(), bias.in(), y.write()); });
}

template <typename T, Activation kind>
void BM_ActivationBackward(benchmark::State& state) {
  constexpr std::int64_t kWide = is_gated(kind) ? 2 * kColumns : kColumns;
  Numbers<T> x(kWide), dx(kWide), dy, bias(kWide, 1);
  Numbers<float> dbias(kWide, 1);
  const double bytes = kElements * (is_gated(kind) ? 5 : 3) * sizeof(T);
  against_stream(state, bytes, [&] {
    activation_backward<T, float>(kind, dy.in(), x.in(), bias.in(), dx.write(), {dbias.view(), true});
  });
}

constexpr std::uint64_t kKey = 0x9E3779B97F4A7C15ULL;
constexpr Dropout kDropout{.probability = 0.1, .keys = &kKey, .total_columns = kColumns};

template <typename T>
void BM_DropoutForward(benchmark::State& state) {
  Numbers<T> x, y;
  Numbers<std::uint8_t> mask;
  against_stream(state, kElements * (2 * sizeof(T) + 1),
                 [&] { dropout_forward<T>(kDropout, x.in(), y.write(), mask.view()); });
}

template <typename T>
void BM_DropoutBackward(benchmark::State& state) {
  Numbers<T> dy, dx;
  Numbers<std::uint8_t> mask;
  dropout_forward<T>(kDropout, dy.in(), dx.write(), mask.view());
  against_stream(state, kElements * (2 * sizeof(T) + 1),
                 [&] { dropout_backward<T>(kDropout.probability, dy.in(), mask.in(), dx.write()); });
}

template <typename T, bool drops>
void BM_BiasDropoutAddForward(benchmark::State& state) {
  Numbers<T> x, residual, y, bias(kColumns, 1);
  Numbers<std::uint8_t> mask(kColumns, drops ? kRows : 0);
  const Matrix<std::uint8_t> drawn = drops ? mask.view() : Matrix<std::uint8_t>{};
  against_stream(state, kElements * (3 * sizeof(T) + (drops ? 1 : 0)), [&] {
    bias_dropout_add_forward<T>(drops ? kDropout : Dropout{}, x.in(), bias.in(), residual.in(), y.write(),
                                drawn);
  });
}

template <typename T>
void BM_BiasDropoutAddBackward(benchmark::State& state) {
  Numbers<T> dy, dx;
  Numbers<float> dbias(kColumns, 1);
  against_stream(state, kElements * 2 * sizeof(T), [&] {
    bias_dropout_add_backward<T, float>(0.0, dy.in(), {}, dx.write(), {dbias.view(), true});
  });
}

#define ORRERY_BENCHMARK(...) BENCHMARK(__VA_ARGS__)->Apply(ceiling_benchmark)
ORRERY_BENCHMARK(BM_Fill<float>);
ORRERY_BENCHMARK(BM_Cast<float, float>);
ORRERY_BENCHMARK(BM_Cast<float, bf16>);
ORRERY_BENCHMARK(BM_Cast<bf16, float>);
ORRERY_BENCHMARK(BM_Cast<float, fp16>);
ORRERY_BENCHMARK(BM_Cast<fp16, float>);
ORRERY_BENCHMARK(BM_Add<float, float>);
ORRERY_BENCHMARK(BM_Add<bf16, bf16>);
ORRERY_BENCHMARK(BM_Add<bf16, float>);
ORRERY_BENCHMARK(BM_ActivationForward<float, Activation::gelu>);
ORRERY_BENCHMARK(BM_ActivationForward<float, Activation::swiglu>);
ORRERY_BENCHMARK(BM_ActivationForward<float, Activation::squared_relu>);
ORRERY_BENCHMARK(BM_ActivationForward<bf16, Activation::gelu>);
ORRERY_BENCHMARK(BM_ActivationForward<bf16, Activation::swiglu>);
ORRERY_BENCHMARK(BM_ActivationBackward<float, Activation::gelu>);
ORRERY_BENCHMARK(BM_ActivationBackward<float, Activation::swiglu>);
ORRERY_BENCHMARK(BM_ActivationBackward<float, Activation::squared_relu>);
ORRERY_BENCHMARK(BM_ActivationBackward<bf16, Activation::gelu>);
ORRERY_BENCHMARK(BM_ActivationBackward<bf16, Activation::swiglu>);
ORRERY_BENCHMARK(BM_DropoutForward<float>);
ORRERY_BENCHMARK(BM_DropoutForward<bf16>);
ORRERY_BENCHMARK(BM_DropoutBackward<float>);
ORRERY_BENCHMARK(BM_DropoutBackward<bf16>);
ORRERY_BENCHMARK(BM_BiasDropoutAddForward<float, false>);
ORRERY_BENCHMARK(BM_BiasDropoutAddForward<bf16, false>);
ORRERY_BENCHMARK(BM_BiasDropoutAddForward<float, true>);
ORRERY_BENCHMARK(BM_BiasDropoutAddForward<bf16, true>);
ORRERY_BENCHMARK(BM_BiasDropoutAddBackward<float>);
ORRERY_BENCHMARK(BM_BiasDropoutAddBackward<bf16>);
#undef ORRERY_BENCHMARK

}  // namespace
}  // namespace orrery::kernels::bench
