// The activations between the two matrices of an MLP, with the bias of the first one fused in.
//   gelu: x / (1 + exp(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3), which is the tanh form 0.5 x (1 + tanh u) of
//     Hendrycks, Gimpel 2016, as GPT-2 and Megatron compute it, with one exponential
//   relu; squared_relu (So et al. 2021)
//   swiglu, geglu: silu(gate) up, gelu(gate) up (Shazeer 2020): x is [T x 2f] as gate | up, y [T x f]
// A bias has as many elements as x has columns or, of the gated kinds, f, which are then up's. It is
// contiguous. T is double, float, bf16 or fp16; arithmetic is in Wide<T>. Cost: one exponential and one
// division an element, for backward too.
#pragma once

#include <cstdint>

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

enum class Activation : std::uint8_t { gelu, relu, squared_relu, swiglu, geglu };

constexpr bool is_gated(Activation activation) {
  return activation == Activation::swiglu || activation == Activation::geglu;
}

// y = act(x + bias), or added to y.
template <typename T>
void activation_forward(Activation activation, In<T> x, In<T> bias, Out<T> y);

// dx = dy act'(x + bias); dbias: column sums of dx before it is rounded. dx may be x. G is T, or float where
// T has 16 bits.
template <typename T, typename G>
void activation_backward(Activation activation, In<T> dy, In<T> x, In<T> bias, Out<T> dx, Out<G> dbias);

}  // namespace orrery::kernels
