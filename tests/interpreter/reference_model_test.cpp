// The reference model against central differences of its own loss, for architectures that together use every field.
#include "tests/interpreter/reference_model.h"

#include <gtest/gtest.h>

#include "tests/interpreter/tiny_models.h"

namespace orrery::interpreter {
namespace {

using models::Architecture;

void expect_gradients(const Architecture& a) {
  SCOPED_TRACE(a.name);
  const ReferenceBatch batch{.sequences = 2, .length = 4, .seed = 3, .step = 0, .sites = {}};
  NamedTensors weights = initial_weights(a, a.vocab, 3);
  const ReferenceResult result = reference_loss(a, weights, batch);
  EXPECT_GT(result.loss, 0.5);
  constexpr double kStep = 1e-5;
  for (auto& [name, tensor] : weights) {
    const std::size_t stride = std::max<std::size_t>(1, tensor.values.size() / 3);
    for (std::size_t i = 0; i < tensor.values.size(); i += stride) {
      const double old = tensor.values[i];
      tensor.values[i] = old + kStep;
      const double above = reference_loss(a, weights, batch).loss;
      tensor.values[i] = old - kStep;
      const double below = reference_loss(a, weights, batch).loss;
      tensor.values[i] = old;
      EXPECT_NEAR(result.gradients.at(name).values[i], (above - below) / (2.0 * kStep), 1e-8) << name << " " << i;
    }
  }
}

TEST(ReferenceModel, GptHasTheGradientOfItsLoss) { expect_gradients(tiny_gpt()); }
TEST(ReferenceModel, LlamaHasTheGradientOfItsLoss) { expect_gradients(tiny_llama()); }
TEST(ReferenceModel, BloomHasTheGradientOfItsLoss) { expect_gradients(tiny_bloom()); }
TEST(ReferenceModel, FalconHasTheGradientOfItsLoss) { expect_gradients(tiny_falcon()); }
TEST(ReferenceModel, NeoxHasTheGradientOfItsLoss) { expect_gradients(tiny_neox()); }
TEST(ReferenceModel, GemmaHasTheGradientOfItsLoss) { expect_gradients(tiny_gemma()); }
TEST(ReferenceModel, BiasesOfAGatedMlpHaveTheGradientOfTheLoss) { expect_gradients(tiny_gated_biases()); }

TEST(ReferenceModel, DropoutChangesTheLossAndKeepsTheGradientRight) {
  Architecture a = tiny_gpt();
  const ReferenceBatch batch{.sequences = 2, .length = 4, .seed = 3, .step = 0, .sites = {}};
  const NamedTensors weights = initial_weights(a, a.vocab, 3);
  const double without = reference_loss(a, weights, batch).loss;
  a.dropout = 0.2;
  EXPECT_GT(std::abs(reference_loss(a, weights, batch).loss - without), 1e-3);
  expect_gradients(a);
}

}  // namespace
}  // namespace orrery::interpreter
