// Layer norm and RMS norm by row, and RMS norm of each head (docs/schedule.md, section 7), on one thread.
//
//     layer_norm   n = (x - mean) / sqrt(var + 1e-5)     y = n w + bias     (Ba, Kiros, Hinton 2016)
//     rms_norm     n = x / sqrt(mean(x^2) + 1e-5)        y = n w            (Zhang, Sennrich 2019)
//     backward     g = dy w;  dx = (g - [mean(g)] - n mean(g n)) / sqrt(...);  dw = sum dy n;  dbias = sum dy
//
// with [mean(g)] for layer norm only. Nothing is kept from the forward: the backward computes statistics from
// x again. Statistics and sums over rows are fp32 (double for double) and in a fixed order. T is float,
// double, bf16 or fp16; G, the gradients' type, is T, or float where T has 16 bits. In place is fine: y may
// be x, dx may be dy or x.
#pragma once

#include "kernels/float_types.h"
#include "kernels/matrix.h"

namespace orrery::kernels {

enum class Norm : std::uint8_t { layer_norm, rms_norm };
inline constexpr double kNormEpsilon = 1e-5;

template <typename T, typename G>
struct NormGradients {
  Out<T> dx;     // as x
  Out<G> dw;     // one row
  Out<G> dbias;  // one row, or absent
};

// w, and bias where there is one, are a row as long as x's.
template <typename T>
void norm_forward(Norm norm, In<T> x, In<T> w, In<T> bias, Out<T> y);
template <typename T, typename G>
void norm_backward(Norm norm, In<T> dy, In<T> x, In<T> w, const NormGradients<T, G>& gradients);

// RMS norm of every w.columns elements of every row, with the same w for all.
template <typename T>
void head_norm_forward(In<T> x, In<T> w, Out<T> y);
template <typename T, typename G>
void head_norm_backward(In<T> dy, In<T> x, In<T> w, Out<T> dx, Out<G> dw);

}  // namespace orrery::kernels
