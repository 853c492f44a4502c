// The model as a textbook has it: whole weights, one sequence at a time, no Schedule, no rank, no kernel of the
// interpreter. Given an Architecture it computes the loss (mean over the tokens of the global batch) and the gradient
// of every parameter by name, and performs the optimizer step. Every plan must agree with it.
#pragma once

#include <string>
#include <vector>

#include "models/architecture.h"
#include "schedule/ir.h"
#include "tests/interpreter/placement.h"

namespace orrery::interpreter {

// Which number each dropout of a layer has in its random key.
struct DropoutSites {
  std::int64_t embedding = 0, attention = 1, attention_out = 2, mlp = 3;
};

struct ReferenceBatch {
  std::int64_t sequences = 1;  // global
  std::int64_t length = 1;
  std::int64_t seed = 1, step = 0;
  DropoutSites sites;
};

struct ReferenceResult {
  double loss = 0.0;
  NamedTensors gradients;
};

NamedTensors initial_weights(const models::Architecture& a, std::int64_t vocab_rows, std::int64_t seed);
ReferenceResult reference_loss(const models::Architecture& a, const NamedTensors& weights, const ReferenceBatch& batch);

enum class ReferenceOptimizer : std::uint8_t { adam, sgd, sgd_momentum };
struct ReferenceMoments {
  NamedTensors first, second;
};
// Clips, then steps (matrices are decayed, vectors are not). `step` counts from 1.
void reference_step(NamedTensors& weights, const NamedTensors& gradients, ReferenceMoments& moments,
                    const schedule::Hyper& hyper, ReferenceOptimizer optimizer, std::int64_t step);

double norm(const NamedTensors& tensors);
double norm(const Matrix& matrix);
// The Frobenius norm of a - b; infinite where the shapes differ.
double distance(const Matrix& a, const Matrix& b);

}  // namespace orrery::interpreter
