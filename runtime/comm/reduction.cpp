#include "runtime/comm/reduction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "base/check.h"
#include "kernels/convert.h"

namespace orrery::runtime {
namespace {

constexpr std::int64_t kBlock = 1024;  // elements: at most 8 KiB each for the total and a copied or widened source

template <typename T>
inline constexpr bool is_half = std::is_same_v<T, kernels::bf16> || std::is_same_v<T, kernels::fp16>;
template <typename T>
using Total = std::conditional_t<is_half<T>, float, T>;

struct Sum {
  template <typename A>
  static A combined(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      using Unsigned = std::make_unsigned_t<A>;
      return static_cast<A>(static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
    } else {
      return a + b;
    }
  }
};

struct Max {
  template <typename A>
  static A combined(A a, A b) {
    if constexpr (std::is_integral_v<A>) {
      return std::max(a, b);
    } else {
      return std::isunordered(b, b) || b > a ? b : a;
    }
  }
};

// The next `count` elements, one behind the other: where they lie, or else copied.
template <typename T>
const T* next_block(FlatCursor& source, std::int64_t count, T* copied) {
  const FlatCursor::Run run = source.peek(count);
  if (run.count == count) {
    source.advance(count);
    return reinterpret_cast<const T*>(run.data);
  }
  for (std::int64_t done = 0; done < count;) {
    const FlatCursor::Run part = source.peek(count - done);
    DCHECK(part.count > 0, done, count);
    std::copy_n(reinterpret_cast<const T*>(part.data), part.count, copied + done);
    source.advance(part.count);
    done += part.count;
  }
  return copied;
}

// The same, in the type of the total.
template <typename T>
const Total<T>* next_wide_block(FlatCursor& source, std::int64_t count, Total<T>* space) {
  if constexpr (is_half<T>) {
    std::array<T, kBlock> copied;
    kernels::widen_row(next_block(source, count, copied.data()), space, count);
    return space;
  } else {
    return next_block(source, count, space);
  }
}

template <typename Op, typename T>
void combine_block(std::span<FlatCursor> sources, std::int64_t count, Total<T>* __restrict total) {
  std::array<Total<T>, kBlock> space;
  const Total<T>* const first = next_wide_block<T>(sources.front(), count, total);
  if (first != total) std::copy_n(first, count, total);
  for (FlatCursor& source : sources.subspan(1)) {
    const Total<T>* const x = next_wide_block<T>(source, count, space.data());
    for (std::int64_t i = 0; i < count; ++i) total[i] = Op::combined(total[i], x[i]);
  }
}

template <typename T>
void store_run(const Total<T>* __restrict total, T* y, std::int64_t count, bool adds) {
  if constexpr (is_half<T>) {
    if (adds) return kernels::add_row(total, y, count);
    kernels::narrow_row(total, y, count);
  } else if (adds) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = Sum::combined(y[i], total[i]);
  } else {
    std::copy_n(total, count, y);
  }
}

template <typename Op, typename T>
void reduce_typed(std::span<FlatCursor> sources, FlatCursor& to, std::int64_t count, bool adds) {
  std::array<Total<T>, kBlock> total;
  for (std::int64_t done = 0; done < count; done += kBlock) {
    const std::int64_t block = std::min(kBlock, count - done);
    combine_block<Op, T>(sources, block, total.data());
    for (std::int64_t stored = 0; stored < block;) {
      const FlatCursor::Run run = to.peek(block - stored);
      DCHECK(run.count > 0, stored, block);
      store_run(total.data() + stored, reinterpret_cast<T*>(run.data), run.count, adds);
      to.advance(run.count);
      stored += run.count;
    }
  }
}

template <typename Op>
void reduce_with(Element element, std::span<FlatCursor> sources, FlatCursor& to, std::int64_t count, bool adds) {
  switch (element) {
    case Element::fp32:
      return reduce_typed<Op, float>(sources, to, count, adds);
    case Element::fp64:
      return reduce_typed<Op, double>(sources, to, count, adds);
    case Element::bf16:
      return reduce_typed<Op, kernels::bf16>(sources, to, count, adds);
    case Element::fp16:
      return reduce_typed<Op, kernels::fp16>(sources, to, count, adds);
    case Element::int32:
      return reduce_typed<Op, std::int32_t>(sources, to, count, adds);
    case Element::byte:
      return reduce_typed<Op, std::uint8_t>(sources, to, count, adds);
  }
}

}  // namespace

void reduce_elements(const Reduction& how, std::span<FlatCursor> sources, FlatCursor& to, std::int64_t count) {
  if (how.reduce == CommReduce::sum) {
    reduce_with<Sum>(how.element, sources, to, count, how.adds);
  } else {
    reduce_with<Max>(how.element, sources, to, count, how.adds);
  }
}

}  // namespace orrery::runtime
