// AdamW and SGD against their references for the recipes of types, and the same however the vector is cut.
#include "kernels/cpu/optimizer/optimizer_step.h"

#include "kernels/cpu/optimizer/optimizer_reference.h"
#include "tests/kernels/pointwise/tensor.h"

namespace orrery::kernels {
namespace {

template <typename PP, typename MM, typename GG, typename WW>
struct Vectors {
  using P = PP;
  using M = MM;
  using G = GG;
  using W = WW;
};
template <typename V>
class Optimizer : public ::testing::Test {};
using AllVectors = ::testing::Types<
    Vectors<double, double, double, double>, Vectors<float, float, float, float>,
    Vectors<float, float, float, bf16>, Vectors<float, float, bf16, bf16>, Vectors<float, bf16, float, bf16>,
    Vectors<float, bf16, bf16, bf16>, Vectors<bf16, float, float, bf16>, Vectors<bf16, float, bf16, bf16>,
    Vectors<bf16, bf16, float, bf16>, Vectors<bf16, bf16, bf16, bf16>, Vectors<float, float, bf16, float>,
    Vectors<float, bf16, float, float>, Vectors<float, bf16, bf16, float>, Vectors<float, float, fp16, fp16>,
    Vectors<fp16, fp16, fp16, fp16>>;
TYPED_TEST_SUITE(Optimizer, AllVectors);

constexpr OptimizerNumbers kNumbers{.learning_rate = 0.05,
                                    .weight_decay = 0.1,
                                    .beta1 = 0.9,
                                    .beta2 = 0.95,
                                    .epsilon = 1e-6,
                                    .gradient_factor = 0.5,
                                    .step = 3};

// A unit's vectors in the middle of training.
template <typename V>
struct State {
  Tensor<typename V::P> p;
  Tensor<typename V::M> moment1, moment2;
  Tensor<typename V::G> dw;
  Tensor<typename V::W> w;

  explicit State(std::int64_t count)
      : p(Tensor<typename V::P>::random(1, count, 1)),
        moment1(Tensor<typename V::M>::random(1, count, 2)),
        moment2(Tensor<typename V::M>::random(1, count, 3)),
        dw(Tensor<typename V::G>::random(1, count, 4)),
        w(1, count) {
    for (std::int64_t i = 0; i < count; ++i) moment2.set(0, i, std::abs(moment2.value(0, i)));
  }
  OptimizerVectors<typename V::P, typename V::M, typename V::G, typename V::W> part(std::int64_t begin,
                                                                                    std::int64_t end) {
    const auto cut = [&](auto& t) {
      return decltype(t.view()){&t.at(0, begin), 1, end - begin, end - begin};
    };
    return {cut(p), cut(moment1), cut(moment2), cut(dw), cut(w)};
  }
  auto all() { return part(0, dw.columns()); }
};

template <typename V>
void expect_equal_states(State<V>& a, State<V>& b, bool bitwise) {
  const auto compare = [&](auto& x, auto& y, double tolerance) {
    if (bitwise)
      expect_same_bits(x, y);
    else
      expect_near(x, y, tolerance);
  };
  compare(a.p, b.p, 2.0 * rounding<typename V::P>());
  compare(a.moment1, b.moment1, 2.0 * rounding<typename V::M>());
  compare(a.moment2, b.moment2, 2.0 * rounding<typename V::M>());
  compare(a.w, b.w, 2.0 * rounding<typename V::W>());
}

TYPED_TEST(Optimizer, AdamIsTheReference) {
  for (const std::int64_t count : {1, 8, 21, 64, 137})
    for (const std::int64_t decay_from : {0, 9, 500}) {
      State<TypeParam> state(count), expected(count);
      const FlatRange range{.first = 3, .decay_from = decay_from};
      adam(state.all(), range, kNumbers);
      reference::adam(expected.all(), range, kNumbers);
      expect_equal_states(state, expected, false);
    }
}

TYPED_TEST(Optimizer, AdamWithoutACopyOfTheWeights) {
  State<TypeParam> state(21), expected(21);
  auto vectors = state.all();
  vectors.w = {};
  adam(vectors, {}, kNumbers);
  adam(expected.all(), {}, kNumbers);
  expect_same_bits(state.p, expected.p);
}

// ZeRO cuts the vector anywhere: the same elements come out.
TYPED_TEST(Optimizer, AdamDoesNotDependOnTheCut) {
  State<TypeParam> whole(53), parts(53);
  const FlatRange range{.decay_from = 17};
  adam(whole.all(), range, kNumbers);
  for (const auto& [begin, end] : {std::pair(0, 5), std::pair(5, 30), std::pair(30, 53)}) {
    FlatRange part = range;
    part.first = begin;
    adam(parts.part(begin, end), part, kNumbers);
  }
  expect_equal_states(parts, whole, true);
}

template <typename V>
void expect_sgd(bool has_momentum) {
  State<V> state(53), parts(53), expected(53);
  const FlatRange range{.decay_from = 17};
  const auto momentum_if = [&](auto vectors) {
    if (!has_momentum) vectors.moment1 = {};
    return vectors;
  };
  sgd(momentum_if(state.all()), range, kNumbers);
  reference::sgd(momentum_if(expected.all()), range, kNumbers);
  expect_equal_states(state, expected, false);
  for (const auto& [begin, end] : {std::pair(0, 5), std::pair(5, 30), std::pair(30, 53)}) {
    FlatRange part = range;
    part.first = begin;
    sgd(momentum_if(parts.part(begin, end)), part, kNumbers);
  }
  expect_equal_states(parts, state, true);
}

TYPED_TEST(Optimizer, SgdIsTheReferenceAndDoesNotDependOnTheCut) {
  using V = TypeParam;
  if constexpr (std::is_same_v<typename V::M, Wide<typename V::P>>) {
    expect_sgd<V>(true);
    expect_sgd<V>(false);
  } else {
    EXPECT_EQ(sizeof(typename V::M), 2U);  // momentum is never kept in 16 bits
  }
}

TEST(Adam, FirstStepIsTheSignOfTheGradient) {
  Tensor<double> p(1, 2), m(1, 2), v(1, 2), dw(1, 2);
  p.at(0, 0) = p.at(0, 1) = 1.0;
  dw.at(0, 0) = 0.5;
  dw.at(0, 1) = -2.0;
  const OptimizerNumbers numbers{.learning_rate = 0.1, .weight_decay = 0.5, .beta1 = 0.9, .beta2 = 0.95};
  adam<double, double, double, double>({p.view(), m.view(), v.view(), dw.in(), {}}, {.decay_from = 1},
                                       numbers);
  EXPECT_NEAR(p.at(0, 0), 0.9, 1e-12);
  EXPECT_NEAR(p.at(0, 1), 1.0 + 0.1 - 0.1 * 0.5, 1e-12);
}

}  // namespace
}  // namespace orrery::kernels
