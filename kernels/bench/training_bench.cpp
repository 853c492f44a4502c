// Loss, optimizer and embedding over vectors well beyond the caches, against STREAM; what is read and written
// once counts. The promise: AdamW 70 %.
#include <cstdint>
#include <vector>

#include "kernels/bench/ceilings.h"
#include "kernels/cpu/embedding/embedding.h"
#include "kernels/cpu/loss/cross_entropy.h"
#include "kernels/cpu/optimizer/gradient_norm.h"
#include "kernels/cpu/optimizer/optimizer_step.h"
#include "kernels/cpu/optimizer/top_k.h"

namespace orrery::kernels::bench {
namespace {

constexpr std::int64_t kElements = std::int64_t{32} << 20;

template <typename T>
std::vector<T> numbers(std::int64_t count) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<T>(0.01F * static_cast<float>(i * 31 % 1009) - 5.0F));
  return values;
}
template <typename T>
Matrix<T> flat(std::vector<T>& v) {
  const auto count = static_cast<std::int64_t>(v.size());
  return {v.data(), 1, count, count};
}

constexpr OptimizerNumbers kNumbers{
    .learning_rate = 1e-6, .weight_decay = 0.1, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8};

// Float weights that are their own master; or 16-bit weights W beside a float master.
template <typename G, typename W>
void BM_Adam(benchmark::State& state) {
  constexpr bool kCopies = sizeof(W) == 2;
  std::vector<float> p = numbers<float>(kElements), m = p, v(p.size(), 0.01F);
  std::vector<G> dw = numbers<G>(kElements);
  std::vector<W> w(kCopies ? p.size() : 0);
  const double bytes =
      static_cast<double>(kElements) * (6 * sizeof(float) + sizeof(G) + (kCopies ? sizeof(W) : 0));
  against_stream(state, bytes, [&] {
    adam<float, float, G, W>({flat(p), flat(m), flat(v), flat(dw), kCopies ? flat(w) : Matrix<W>{}}, {},
                             kNumbers);
  });
}

void BM_SgdWithMomentum(benchmark::State& state) {
  std::vector<float> p = numbers<float>(kElements), m = p, dw = p;
  against_stream(state, static_cast<double>(kElements) * 5 * sizeof(float), [&] {
    sgd<float, float, float, float>({flat(p), flat(m), {}, flat(dw), {}}, {}, kNumbers);
  });
}

template <typename G>
void BM_GradientNorm(benchmark::State& state) {
  std::vector<G> dw = numbers<G>(kElements);
  against_stream(state, static_cast<double>(kElements) * sizeof(G),
                 [&] { benchmark::DoNotOptimize(squared_norm<G>(flat(dw), {}, true)); });
}

void BM_TopKSelect(benchmark::State& state) {
  std::vector<float> x = numbers<float>(kElements), selected(static_cast<std::size_t>(kElements) / 50);
  const std::int64_t k = kElements / 100;
  against_stream(state, static_cast<double>(kElements) * sizeof(float), [&] {
    top_k_select<float>(flat(x), {selected.data(), 2, k, k});
  });
}

// Logits of a language model: [tokens x vocabulary].
template <typename L>
struct Logits {
  static constexpr std::int64_t kVocabulary = 32768, kTokens = kElements / kVocabulary;
  std::vector<L> x = numbers<L>(kElements);
  std::vector<std::int32_t> labels = std::vector<std::int32_t>(kTokens, 7);
  std::vector<float> stats = std::vector<float>(4 * kTokens);
  Matrix<L> view() { return {x.data(), kTokens, kVocabulary, kVocabulary}; }
  Matrix<float> numbers_of_rows() { return {stats.data(), kTokens, 4, 4}; }
  VocabularyBlock<L> block() { return {view(), {labels.data(), kTokens, 1, 1}, 0}; }
};

template <typename L>
void BM_CrossEntropyMax(benchmark::State& state) {
  Logits<L> logits;
  against_stream(state, static_cast<double>(kElements) * sizeof(L),
                 [&] { cross_entropy_max<L>(logits.view(), logits.numbers_of_rows()); });
}

template <typename L>
void BM_CrossEntropySum(benchmark::State& state) {
  Logits<L> logits;
  cross_entropy_max<L>(logits.view(), logits.numbers_of_rows());
  against_stream(state, static_cast<double>(kElements) * sizeof(L),
                 [&] { cross_entropy_sum<L>(logits.block(), logits.numbers_of_rows()); });
}

template <typename L>
void BM_CrossEntropyBackward(benchmark::State& state) {
  Logits<L> logits;
  std::vector<L> dx(logits.x.size());
  cross_entropy_max<L>(logits.view(), logits.numbers_of_rows());
  cross_entropy_sum<L>(logits.block(), logits.numbers_of_rows());
  const Out<L> out{{dx.data(), logits.kTokens, logits.kVocabulary, logits.kVocabulary}};
  against_stream(state, static_cast<double>(kElements) * 2 * sizeof(L), [&] {
    cross_entropy_backward<L>(logits.block(), logits.numbers_of_rows(), 1e-3, 1.0, out);
  });
}

// Tokens spread over a table that is itself beyond the cache; each occurs about once.
template <typename T>
struct Table {
  static constexpr std::int64_t kHidden = 1024, kRows = kElements / kHidden;
  std::vector<T> w = numbers<T>(kElements), y = numbers<T>(kElements);
  std::vector<float> dw = numbers<float>(kElements);
  std::vector<std::int32_t> tokens;
  Table() {
    for (std::int64_t r = 0; r < kRows; ++r) tokens.push_back(static_cast<std::int32_t>(r * 7919 % kRows));
  }
  template <typename E>
  Matrix<E> matrix(std::vector<E>& v) {
    return {v.data(), kRows, kHidden, kHidden};
  }
  Tokens ids() { return {tokens.data(), kRows, 1, 1}; }
};

template <typename T>
void BM_EmbeddingForward(benchmark::State& state) {
  Table<T> t;
  against_stream(state, static_cast<double>(kElements) * 2 * sizeof(T),
                 [&] { embedding_forward<T>(t.ids(), t.matrix(t.w), 0, {t.matrix(t.y)}); });
}

template <typename T>
void BM_EmbeddingBackward(benchmark::State& state) {
  Table<T> t;
  against_stream(state, static_cast<double>(kElements) * (sizeof(T) + 2 * sizeof(float)), [&] {
    embedding_backward<T, float>(t.ids(), t.matrix(t.y), 0, {t.matrix(t.dw), true});
  });
}

#define ORRERY_BENCHMARK(...) BENCHMARK(__VA_ARGS__)->Apply(ceiling_benchmark)
ORRERY_BENCHMARK(BM_Adam<float, float>);
ORRERY_BENCHMARK(BM_Adam<float, bf16>);
ORRERY_BENCHMARK(BM_Adam<bf16, bf16>);
ORRERY_BENCHMARK(BM_Adam<fp16, fp16>);
ORRERY_BENCHMARK(BM_SgdWithMomentum);
ORRERY_BENCHMARK(BM_GradientNorm<float>);
ORRERY_BENCHMARK(BM_GradientNorm<bf16>);
ORRERY_BENCHMARK(BM_TopKSelect);
ORRERY_BENCHMARK(BM_CrossEntropyMax<float>);
ORRERY_BENCHMARK(BM_CrossEntropyMax<bf16>);
ORRERY_BENCHMARK(BM_CrossEntropySum<float>);
ORRERY_BENCHMARK(BM_CrossEntropySum<bf16>);
ORRERY_BENCHMARK(BM_CrossEntropyBackward<float>);
ORRERY_BENCHMARK(BM_CrossEntropyBackward<bf16>);
ORRERY_BENCHMARK(BM_EmbeddingForward<float>);
ORRERY_BENCHMARK(BM_EmbeddingForward<bf16>);
ORRERY_BENCHMARK(BM_EmbeddingBackward<float>);
ORRERY_BENCHMARK(BM_EmbeddingBackward<bf16>);
#undef ORRERY_BENCHMARK

}  // namespace
}  // namespace orrery::kernels::bench
