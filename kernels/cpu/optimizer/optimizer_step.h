// Optimizers on flat parameter vectors, one pass each.
//   AdamW (Loshchilov, Hutter 2019, algorithm 2) with bias correction; g is the gradient times a factor:
//     m += (1 - beta1) (g - m)            v += (1 - beta2) (g^2 - v)
//     p -= rate (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + decay p)
//   SGD:  m = beta1 m + g where there is a momentum;  p -= rate (m or g, + decay p)
// Decay applies from a position of the unit on (biases and norms lie before it). Where the recipe keeps
// master weights, p is the master, and w is written with its rounded copy; else p are the weights themselves,
// and w is absent.
//
// Types: P of p, M of the moments, G of the gradient, W of w. Arithmetic is in float, or in double where
// everything is; an element's result does not depend on how the vector is cut. Cost: memory traffic only.
#pragma once

#include "kernels/cpu/optimizer/flat_range.h"
#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

struct OptimizerNumbers {
  double learning_rate = 0.0, weight_decay = 0.0, beta1 = 0.0, beta2 = 0.0, epsilon = 0.0;
  double gradient_factor = 1.0;  // clipping and loss scale (kernels/cpu/optimizer/gradient_norm.h)
  std::int64_t step = 1;         // t, counts from 1
};

// All contiguous and of equal counts; w may be absent, for sgd moment1 too.
template <typename P, typename M, typename G, typename W>
struct OptimizerVectors {
  Matrix<P> p;
  Matrix<M> moment1, moment2;  // moment2: adam only
  In<G> dw;
  Matrix<W> w;
};

// P M G W: all double; all float; or with 16-bit T: P, M and G each T or float, and W the type of the
// weights: T, or float where P is float.
template <typename P, typename M, typename G, typename W>
void adam(const OptimizerVectors<P, M, G, W>& vectors, const FlatRange& range,
          const OptimizerNumbers& numbers);

// The same with M always float (double).
template <typename P, typename M, typename G, typename W>
void sgd(const OptimizerVectors<P, M, G, W>& vectors, const FlatRange& range,
         const OptimizerNumbers& numbers);

}  // namespace orrery::kernels
