// The gradient of a bias: rows added in order to one row of sums, which stays in the cache while dy is read
// once, forwards; four rows at a time, so that the sums are loaded and stored a quarter as often.
#include <algorithm>

#include "kernels/convert.h"
#include "kernels/cpu/linear/gemm.h"
#include "kernels/scratch.h"

namespace orrery::kernels {
namespace {

struct Sums;

template <typename T>
void add_rows(const In<T>& dy, std::int64_t row, std::int64_t rows, Wide<T>* sums) {
  constexpr std::int64_t L = lane_count<T>;
  std::int64_t c = 0;
  for (; c + L <= dy.columns; c += L) {
    Lanes<T> s = load(sums + c);
    for (std::int64_t r = 0; r < rows; ++r) s += load(dy.row(row + r) + c);
    store(sums + c, s);
  }
  for (; c < dy.columns; ++c)
    for (std::int64_t r = 0; r < rows; ++r) sums[c] += widen(dy.at(row + r, c));
}

}  // namespace

template <typename T, typename G>
void bias_backward(In<T> dy, Out<G> dbias) {
  Wide<T>* sums = scratch<Sums, Wide<T>>(dy.columns);
  std::fill(sums, sums + dy.columns, Wide<T>{0});
  std::int64_t r = 0;
  for (; r + 4 <= dy.rows; r += 4) add_rows(dy, r, 4, sums);
  if (r < dy.rows) add_rows(dy, r, dy.rows - r, sums);
  if (dbias.adds)
    add_row(sums, dbias.view.data, dy.columns);
  else
    narrow_row(sums, dbias.view.data, dy.columns);
}

template void bias_backward<float, float>(In<float>, Out<float>);
template void bias_backward<double, double>(In<double>, Out<double>);
template void bias_backward<bf16, bf16>(In<bf16>, Out<bf16>);
template void bias_backward<bf16, float>(In<bf16>, Out<float>);
template void bias_backward<fp16, fp16>(In<fp16>, Out<fp16>);
template void bias_backward<fp16, float>(In<fp16>, Out<float>);

}  // namespace orrery::kernels
