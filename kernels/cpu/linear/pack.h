// Packing: a block of an operand copied, widened, into strips: 8 lanes (4 of double) side by side for every
// step of the depth, one strip behind the other, so that the product reads both operands forwards (Goto, van
// de Geijn: Anatomy of High-Performance Matrix Multiplication, 2008). Lanes are rows of the left operand or
// columns of the right one. An operand whose depth runs along its rows is turned in registers, a square of
// lanes at a time. Lanes that the operand does not have are 0.
#pragma once

#include <algorithm>

#include "kernels/convert.h"
#include "kernels/lane_transpose.h"

namespace orrery::kernels {

// Element (lane, p) is data[lane * lane_step + p * depth_step]; one of the steps is 1.
template <typename T>
struct Operand {
  const T* data;
  std::int64_t lane_step, depth_step;
};

namespace pack_detail {

template <typename T>
void pack_turned(const T* from, std::int64_t lane_step, std::int64_t lanes, std::int64_t depth, Wide<T>* to) {
  constexpr std::int64_t L = lane_count<T>;
  for (; lanes > 0; lanes -= L, from += L * lane_step, to += L * depth) {
    const std::int64_t held = std::min(lanes, L);
    std::int64_t p = 0;
    for (; held == L && p + L <= depth; p += L) {
      Lanes<T> square[L];
      for (std::int64_t i = 0; i < L; ++i) square[i] = load(from + i * lane_step + p);
      transpose(square);
      for (std::int64_t i = 0; i < L; ++i) store(to + (p + i) * L, square[i]);
    }
    for (; p < depth; ++p)
      for (std::int64_t i = 0; i < L; ++i) to[p * L + i] = i < held ? widen(from[i * lane_step + p]) : 0;
  }
}

template <typename T>
void pack_straight(const T* from, std::int64_t depth_step, std::int64_t lanes, std::int64_t depth,
                   Wide<T>* to) {
  constexpr std::int64_t L = lane_count<T>;
  constexpr std::int64_t kRun =
      8;  // steps of the depth taken together: memory is read in rows, written in pages
  for (std::int64_t p = 0; p < depth; p += kRun) {
    const std::int64_t run = std::min(kRun, depth - p);
    Wide<T>* strip = to + p * L;
    std::int64_t lane = 0;
    for (; lane + L <= lanes; lane += L, strip += L * depth)
      for (std::int64_t i = 0; i < run; ++i) store(strip + i * L, load(from + (p + i) * depth_step + lane));
    if (lane == lanes) continue;
    for (std::int64_t i = 0; i < run; ++i)
      store(strip + i * L, load_part(from + (p + i) * depth_step + lane, lanes - lane));
  }
}

}  // namespace pack_detail

// Lanes [lane, lane + lanes) over depth [p, p + depth) of the operand, into ceil(lanes / L) strips of depth *
// L numbers.
template <typename T>
void pack(const Operand<T>& operand, std::int64_t lane, std::int64_t lanes, std::int64_t p,
          std::int64_t depth, Wide<T>* to) {
  const T* from = operand.data + lane * operand.lane_step + p * operand.depth_step;
  if (operand.lane_step == 1)
    pack_detail::pack_straight(from, operand.depth_step, lanes, depth, to);
  else
    pack_detail::pack_turned(from, operand.lane_step, lanes, depth, to);
}

}  // namespace orrery::kernels
