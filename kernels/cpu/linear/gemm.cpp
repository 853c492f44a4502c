// The loops around the tile (Goto, van de Geijn 2008; names of the blocks as in BLIS): columns in blocks that
// the third cache holds, depth in blocks whose strips fit the first, rows in blocks that the second holds.
// Where a 16-bit result needs more than one block of depth, its fp32 sums wait in scratch, for a bounded
// number of rows.
#include "kernels/cpu/linear/gemm.h"

#include "kernels/cpu/linear/pack.h"
#include "kernels/cpu/linear/tile.h"
#include "kernels/round_up.h"
#include "kernels/scratch.h"

namespace orrery::kernels {
namespace {

constexpr std::int64_t kDepthBlock = 256, kRowBlock = 192, kColumnBlock = 1536, kScratchRows = 768;

struct Extents {
  std::int64_t m, n, k;
};

// Scratches of one product.
struct LeftStrips;
struct RightStrips;
struct Sums;
struct Bias;

// One block of rows, all its columns: three strips at a time, but never one alone at the end (too few sums to
// keep the multiply-add units busy) where it can share with the tile before.
template <typename G>
void multiply_block(const Wide<G>* left, const Wide<G>* right, const Extents& block, const TileEnd<G>& end) {
  constexpr std::int64_t L = lane_count<G>;
  for (std::int64_t column = 0; column < block.n;) {
    const std::int64_t strips_left = (block.n - column + L - 1) / L;
    const std::int64_t strips = strips_left == 4 ? 2 : std::min(strips_left, kTileStrips);
    const std::int64_t columns = std::min(block.n - column, strips * L);
    const Wide<G>* from = right + column * block.k;
    if (strips == 3)
      multiply_columns<3>(left, from, block.k, block.m, column, columns, end);
    else if (strips == 2)
      multiply_columns<2>(left, from, block.k, block.m, column, columns, end);
    else
      multiply_columns<1>(left, from, block.k, block.m, column, columns, end);
    column += strips * L;
  }
}

template <typename W>
Matrix<W> part(const Matrix<W>& whole, std::int64_t row, std::int64_t column) {
  return {whole.exists() ? whole.row(row) + column : nullptr, 0, 0, whole.stride};
}

template <typename T, typename G>
class Product {
 public:
  Product(Operand<T> left, Operand<T> right, Extents extents, const Wide<G>* bias, const Out<G>& out)
      : left_(left), right_(right), extents_(extents), bias_(bias), out_(out) {
    constexpr std::int64_t L = lane_count<T>;
    const std::int64_t depth = std::min(extents.k, kDepthBlock);
    packed_left_ = scratch<LeftStrips, Wide<T>>(round_up(std::min(extents.m, kRowBlock), L) * depth);
    packed_right_ = scratch<RightStrips, Wide<T>>(round_up(std::min(extents.n, kColumnBlock), L) * depth);
  }

  void compute() const {
    const std::int64_t height = sums_apart() ? kScratchRows : std::max<std::int64_t>(extents_.m, 1);
    for (std::int64_t column = 0; column < extents_.n; column += kColumnBlock)
      for (std::int64_t row = 0; row < extents_.m; row += height) {
        const Extents panel{std::min(height, extents_.m - row), std::min(kColumnBlock, extents_.n - column),
                            extents_.k};
        compute_panel(row, column, panel);
      }
  }

 private:
  // The result cannot hold the sums over a part of the depth: they would be rounded, or the result is added
  // to.
  bool sums_apart() const { return !std::is_same_v<G, Wide<G>> && extents_.k > kDepthBlock; }

  void compute_panel(std::int64_t row, std::int64_t column, const Extents& panel) const {
    TileEnd<G> end;
    end.bias = bias_ == nullptr ? nullptr : bias_ + column;
    end.result = part(out_.view, row, column);
    if constexpr (std::is_same_v<G, Wide<G>>) {
      end.partial = end.result;
      end.continues = out_.adds;
    } else {
      if (sums_apart()) end.partial = {scratch<Sums, Wide<G>>(panel.m * panel.n), panel.m, panel.n, panel.n};
      end.adds = out_.adds;
    }
    for (std::int64_t p = 0; p == 0 || p < panel.k; p += kDepthBlock) {
      const std::int64_t depth = std::min(kDepthBlock, panel.k - p);
      end.last = p + kDepthBlock >= panel.k;
      pack(right_, column, panel.n, p, depth, packed_right_);
      compute_depth(row, p, {panel.m, panel.n, depth}, end);
      end.continues = true;
    }
  }

  void compute_depth(std::int64_t row, std::int64_t p, const Extents& slab, const TileEnd<G>& end) const {
    for (std::int64_t i = 0; i < slab.m; i += kRowBlock) {
      const Extents block{std::min(kRowBlock, slab.m - i), slab.n, slab.k};
      pack(left_, row + i, block.m, p, block.k, packed_left_);
      TileEnd<G> block_end = end;
      block_end.partial = part(end.partial, i, 0);
      block_end.result = part(end.result, i, 0);
      multiply_block(packed_left_, packed_right_, block, block_end);
    }
  }

  Operand<T> left_, right_;
  Extents extents_;
  const Wide<G>* bias_;
  Out<G> out_;
  Wide<T>*packed_left_, *packed_right_;
};

template <typename T>
Operand<T> lanes_are_rows(const In<T>& a) {
  return {a.data, a.stride, 1};
}
template <typename T>
Operand<T> lanes_are_columns(const In<T>& a) {
  return {a.data, 1, a.stride};
}

// The bias in fp32, once a call.
template <typename T>
const Wide<T>* wide_bias(const In<T>& bias) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    return bias.data;
  } else {
    if (!bias.exists()) return nullptr;
    Wide<T>* to = scratch<Bias, Wide<T>>(bias.columns);
    widen_row(bias.data, to, bias.columns);
    return to;
  }
}

}  // namespace

template <typename T>
void gemm_tn(In<T> x, In<T> w, In<T> bias, Out<T> y) {
  const Extents extents{x.rows, w.rows, x.columns};
  Product<T, T>(lanes_are_rows(x), lanes_are_rows(w), extents, wide_bias(bias), y).compute();
}

template <typename T>
void gemm_nn(In<T> dy, In<T> w, Out<T> dx) {
  const Extents extents{dy.rows, w.columns, dy.columns};
  Product<T, T>(lanes_are_rows(dy), lanes_are_columns(w), extents, nullptr, dx).compute();
}

template <typename T, typename G>
void gemm_nt(In<T> dy, In<T> x, Out<G> dw) {
  const Extents extents{dy.columns, x.columns, dy.rows};
  Product<T, G>(lanes_are_columns(dy), lanes_are_columns(x), extents, nullptr, dw).compute();
}

template void gemm_tn<float>(In<float>, In<float>, In<float>, Out<float>);
template void gemm_tn<double>(In<double>, In<double>, In<double>, Out<double>);
template void gemm_tn<bf16>(In<bf16>, In<bf16>, In<bf16>, Out<bf16>);
template void gemm_tn<fp16>(In<fp16>, In<fp16>, In<fp16>, Out<fp16>);
template void gemm_nn<float>(In<float>, In<float>, Out<float>);
template void gemm_nn<double>(In<double>, In<double>, Out<double>);
template void gemm_nn<bf16>(In<bf16>, In<bf16>, Out<bf16>);
template void gemm_nn<fp16>(In<fp16>, In<fp16>, Out<fp16>);
template void gemm_nt<float, float>(In<float>, In<float>, Out<float>);
template void gemm_nt<double, double>(In<double>, In<double>, Out<double>);
template void gemm_nt<bf16, bf16>(In<bf16>, In<bf16>, Out<bf16>);
template void gemm_nt<bf16, float>(In<bf16>, In<bf16>, Out<float>);
template void gemm_nt<fp16, fp16>(In<fp16>, In<fp16>, Out<fp16>);
template void gemm_nt<fp16, float>(In<fp16>, In<fp16>, Out<float>);

}  // namespace orrery::kernels
