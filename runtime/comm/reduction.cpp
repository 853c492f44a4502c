#include "runtime/comm/reduction.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/check.h"
#include "kernels/float_types.h"

namespace orrery::runtime {
namespace {

constexpr std::int64_t kBlock = 1024;  // elements: at most 8 KiB each for the accumulator and a copied source

template <typename T>
using Accumulator = std::conditional_t<std::is_integral_v<T>, T, kernels::Wide<T>>;

template <typename T>
Accumulator<T> widened(T value) {
  return static_cast<Accumulator<T>>(value);
}

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
      return a < b ? b : a;
    } else {
      return b > a || b != b ? b : a;
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
    CHECK(part.count > 0, done, count);
    std::copy_n(reinterpret_cast<const T*>(part.data), part.count, copied + done);
    source.advance(part.count);
    done += part.count;
  }
  return copied;
}

template <typename Op, typename T>
void combine_block(std::span<FlatCursor> sources, std::int64_t count, Accumulator<T>* __restrict total) {
  std::array<T, kBlock> copied;
  const T* const first = next_block(sources.front(), count, copied.data());
  for (std::int64_t i = 0; i < count; ++i) total[i] = widened(first[i]);
  for (FlatCursor& source : sources.subspan(1)) {
    const T* const x = next_block(source, count, copied.data());
    for (std::int64_t i = 0; i < count; ++i) total[i] = Op::combined(total[i], widened(x[i]));
  }
}

template <typename T>
void store_block(const Accumulator<T>* __restrict total, FlatCursor& to, std::int64_t count, bool adds) {
  for (std::int64_t done = 0; done < count;) {
    const FlatCursor::Run run = to.peek(count - done);
    CHECK(run.count > 0, done, count);
    T* const y = reinterpret_cast<T*>(run.data);
    const Accumulator<T>* const part = total + done;
    if (adds) {
      for (std::int64_t i = 0; i < run.count; ++i) y[i] = static_cast<T>(Sum::combined(widened(y[i]), part[i]));
    } else {
      for (std::int64_t i = 0; i < run.count; ++i) y[i] = static_cast<T>(part[i]);
    }
    to.advance(run.count);
    done += run.count;
  }
}

template <typename Op, typename T>
void reduce_typed(std::span<FlatCursor> sources, FlatCursor& to, std::int64_t count, bool adds) {
  std::array<Accumulator<T>, kBlock> total;
  for (std::int64_t done = 0; done < count; done += kBlock) {
    const std::int64_t block = std::min(kBlock, count - done);
    combine_block<Op, T>(sources, block, total.data());
    store_block<T>(total.data(), to, block, adds);
  }
}

template <typename Op>
void reduce_with(Element element, std::span<FlatCursor> sources, FlatCursor& to, std::int64_t count, bool adds) {
  switch (element) {
    case Element::fp32: return reduce_typed<Op, float>(sources, to, count, adds);
    case Element::fp64: return reduce_typed<Op, double>(sources, to, count, adds);
    case Element::bf16: return reduce_typed<Op, kernels::bf16>(sources, to, count, adds);
    case Element::fp16: return reduce_typed<Op, kernels::fp16>(sources, to, count, adds);
    case Element::int32: return reduce_typed<Op, std::int32_t>(sources, to, count, adds);
    case Element::byte: return reduce_typed<Op, std::uint8_t>(sources, to, count, adds);
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
