// Rows of experts against STREAM, as they are moved: permuting reads a token's row and writes one for each choice, combining
// reads those and writes the token's, sorting reads and writes each row. Routes are balanced.
#include "kernels/bench/buffer.h"
#include "kernels/bench/ceilings.h"
#include "kernels/cpu/experts/expert_rows.h"

namespace orrery::kernels::bench {
namespace {

constexpr std::int64_t kTokens = 16384, kChoices = 2, kExperts = 8;

template <typename T>
struct Rows {
  explicit Rows(std::int64_t width)
      : columns(width), x(kTokens * width, 0), rows(kTokens * kChoices * width, 1), moved(kTokens * kChoices * width, 2),
        weights(kTokens * kChoices, 3, Wide<T>(0.5F)), routes(kTokens * kChoices, 4) {
    for (std::int64_t i = 0; i < kTokens * kChoices; ++i)
      routes[static_cast<std::size_t>(i)] = static_cast<std::int32_t>((i * 5 + i / 3) % kExperts);
  }
  Matrix<T> tokens() { return {x.data(), kTokens, columns, columns}; }
  Matrix<T> choices(Buffer<T>& b) { return {b.data(), kTokens * kChoices, columns, columns}; }
  In<std::int32_t> chosen() const { return {routes.data(), kTokens, kChoices, kChoices}; }
  In<Wide<T>> weight() const { return {weights.data(), kTokens, kChoices, kChoices}; }
  double bytes(std::int64_t of_rows) const { return static_cast<double>(of_rows * columns) * sizeof(T); }

  std::int64_t columns;
  Buffer<T> x, rows, moved;
  Buffer<Wide<T>> weights;
  Buffer<std::int32_t> routes;
};

template <typename T>
void BM_Permute(benchmark::State& state) {
  Rows<T> r(state.range(0));
  against_stream(state, r.bytes(kTokens * (1 + kChoices)), [&] {
    permute_rows<T>(r.tokens(), r.chosen(), kExperts, {r.choices(r.rows), false});
  });
}

template <typename T>
void BM_Combine(benchmark::State& state) {
  Rows<T> r(state.range(0));
  against_stream(state, r.bytes(kTokens * (1 + kChoices)), [&] {
    combine_rows<T>(r.choices(r.rows), r.chosen(), kExperts, r.weight(), {r.tokens(), false});
  });
}

template <typename T>
void BM_Sort(benchmark::State& state) {
  Rows<T> r(state.range(0));
  const std::vector<std::int64_t> lengths(4 * kExperts, kTokens * kChoices / (4 * kExperts));
  against_stream(state, r.bytes(2 * kTokens * kChoices), [&] {
    sort_rows<T>(lengths, kExperts, false, r.choices(r.rows), {r.choices(r.moved), false});
  });
}

void widths(benchmark::internal::Benchmark* b) {
  ceiling_benchmark(b);
  b->ArgName("columns")->Arg(256)->Arg(1024)->Arg(4096);
}

BENCHMARK(BM_Permute<float>)->Apply(widths);
BENCHMARK(BM_Permute<bf16>)->Apply(widths);
BENCHMARK(BM_Combine<float>)->Apply(widths);
BENCHMARK(BM_Combine<bf16>)->Apply(widths);
BENCHMARK(BM_Sort<float>)->Apply(widths);
BENCHMARK(BM_Sort<bf16>)->Apply(widths);

}  // namespace
}  // namespace orrery::kernels::bench
