// Reverse-mode differentiation on small dense matrices: each operation appends a node with a closure that adds to the
// gradients of its inputs. The reference model is written with it, so that it shares no arithmetic with the kernels
// of the interpreter. Cost: everything is kept, everything is copied; fine for models of a few thousand weights.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/architecture.h"
#include "tests/interpreter/placement.h"

namespace orrery::interpreter {

class Tape {
 public:
  using Var = std::size_t;

  Var leaf(const Matrix& value);
  const Matrix& value(Var v) const { return nodes_[v].value; }
  const Matrix& gradient(Var v) const { return nodes_[v].gradient; }

  Var multiply_transposed(Var a, Var b);  // a b^T
  Var multiply(Var a, Var b);             // a b
  Var add(Var a, Var b);
  Var add_row(Var a, Var bias);            // bias [n x 1] to every row
  Var add_constant(Var a, const Matrix& constant);
  Var scale(Var a, double factor);
  Var hadamard(Var a, Var b);
  Var mask(Var a, const Matrix& constant);  // elementwise product
  Var columns(Var a, std::int64_t first, std::int64_t count);
  Var join_columns(const std::vector<Var>& parts);
  Var pick_rows(Var table, const std::vector<std::int64_t>& rows);
  Var normalise(Var a, bool centred, double epsilon);  // rows to mean square 1 (centred: and mean 0)
  Var scale_columns(Var a, Var weight);                // weight [n x 1]
  Var sigmoid(Var a);
  Var share_of_row(Var a);             // each row divided by its sum
  Var scale_rows(Var a, Var weight);   // weight [rows x 1]
  Var softmax_rows(Var a);  // -infinity entries become 0
  Var activate(Var a, models::ActivationKind kind);    // the curve on one value: gelu, silu, relu, relu^2
  Var cross_entropy(Var logits, const std::vector<std::int64_t>& labels);  // sum over rows, [1 x 1]

  void backward(Var root, double seed);

 private:
  struct Node {
    Matrix value, gradient;
    std::function<void(const Matrix&)> pull;  // given this node's gradient
  };
  Var push(Matrix value, std::function<void(const Matrix&)> pull);
  Matrix& grad(Var v) { return nodes_[v].gradient; }
  std::vector<Node> nodes_;
};

}  // namespace orrery::interpreter
