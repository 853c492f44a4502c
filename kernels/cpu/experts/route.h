// The choice of experts. Scores are softmax(x) or sigmoid(x) of a token's logits; the top_k of them with the highest score
// (+ bias) are chosen, within the best top_groups of `groups` groups; a group is as good as its best expert (DeepSeek-V2,
// section 2.2.2) or, with sigmoid, its best two together (DeepSeek-V3, section 2.1.2). Of equals the lower number goes
// first. Weights are scores x scale, divided by the chosen ones' sum where normalised. With a capacity, an expert takes
// its first tokens only.
//
// T: the logits' type. Scores are computed in fp32 (fp64 for double). Cost: O(T experts log top_k), no allocation but the
// thread's own scratch.
#pragma once

#include <cstdint>

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

struct Routing {
  std::int64_t top_k = 1, groups = 1, top_groups = 1;
  std::int64_t capacity = 0;  // rows of an expert; 0: any
  bool sigmoid = false, normalized = true;
  double scale = 1.0;
};

// routes[t, j]: the expert, or -1 - expert where it had no room; counts[e]: rows of each.
template <typename T>
void route_forward(const Routing& routing, In<T> x, In<T> bias, Matrix<Wide<T>> weights, Matrix<std::int32_t> routes,
                   Matrix<std::int32_t> counts);

// The gradient of the logits from that of the weights.
template <typename T>
void route_backward(const Routing& routing, In<Wide<T>> dweights, In<T> x, In<std::int32_t> routes, Out<T> dx);

}  // namespace orrery::kernels
