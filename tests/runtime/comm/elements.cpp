#include "tests/runtime/comm/elements.h"

#include <algorithm>
#include <cstring>

#include "kernels/float_types.h"

namespace orrery::runtime::test {
namespace {

using kernels::bf16;
using kernels::fp16;

// SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

// In (-2^4, 2^4), over several magnitudes.
double drawn_number(std::uint64_t bits) {
  constexpr double kMagnitudes[] = {0x1p-3, 0x1p-2, 0x1p-1, 1, 2, 4, 8, 16};
  return (static_cast<double>(bits >> 12) * 0x1.0p-51 - 1.0) * kMagnitudes[bits & 7U];
}

template <typename T>
void put(Flat& flat, std::size_t i, T value) {
  std::memcpy(flat.data() + i * sizeof(T), &value, sizeof(T));
}
template <typename T>
T at(const Flat& flat, std::size_t i) {
  T value;
  std::memcpy(&value, flat.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T, typename Wide>
Flat combined_as(CommReduce reduce, const std::vector<Flat>& members, const Flat* y) {
  Flat result(members.front().size());
  for (std::size_t i = 0; i < result.size() / sizeof(T); ++i) {
    Wide total = static_cast<Wide>(at<T>(members.front(), i));
    for (std::size_t m = 1; m < members.size(); ++m) {
      const Wide x = static_cast<Wide>(at<T>(members[m], i));
      total = reduce == CommReduce::sum ? static_cast<Wide>(total + x) : std::max(total, x);
    }
    if (y != nullptr) total = static_cast<Wide>(static_cast<Wide>(at<T>(*y, i)) + total);
    put(result, i, static_cast<T>(total));
  }
  return result;
}

Flat combined_with(Element element, CommReduce reduce, const std::vector<Flat>& members, const Flat* y) {
  switch (element) {
    case Element::fp32:
      return combined_as<float, float>(reduce, members, y);
    case Element::fp64:
      return combined_as<double, double>(reduce, members, y);
    case Element::bf16:
      return combined_as<bf16, float>(reduce, members, y);
    case Element::fp16:
      return combined_as<fp16, float>(reduce, members, y);
    case Element::int32:
      return combined_as<std::int32_t, std::int64_t>(reduce, members, y);
    case Element::byte:
      return combined_as<std::uint8_t, std::uint32_t>(reduce, members, y);
  }
  return {};
}

}  // namespace

Flat drawn(Element element, std::int64_t count, std::uint64_t seed) {
  Flat flat(static_cast<std::size_t>(count * bytes_of(element)));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const std::uint64_t bits = mixed(seed * 0x10001U + i);
    const double number = drawn_number(bits);
    switch (element) {
      case Element::fp32:
        put(flat, i, static_cast<float>(number));
        break;
      case Element::fp64:
        put(flat, i, number);
        break;
      case Element::bf16:
        put(flat, i, bf16(static_cast<float>(number)));
        break;
      case Element::fp16:
        put(flat, i, fp16(static_cast<float>(number)));
        break;
      case Element::int32:
        put(flat, i, static_cast<std::int32_t>(bits));
        break;
      case Element::byte:
        put(flat, i, static_cast<std::uint8_t>(bits));
        break;
    }
  }
  return flat;
}

Flat combined(Element element, CommReduce reduce, const std::vector<Flat>& members) {
  return combined_with(element, reduce, members, nullptr);
}

Flat added(Element element, const Flat& y, const std::vector<Flat>& members) {
  return combined_with(element, CommReduce::sum, members, &y);
}

Flat concatenated(const std::vector<Flat>& parts) {
  Flat all;
  for (const Flat& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Flat chunk(const Flat& all, std::size_t index, std::size_t of) {
  const auto size = static_cast<std::ptrdiff_t>(all.size() / of);
  const auto begin = all.begin() + size * static_cast<std::ptrdiff_t>(index);
  return {begin, begin + size};
}

Pieces expected(const CommCall& call, int index, const std::vector<Pieces>& x, const std::vector<Pieces>& y) {
  const std::size_t n = y.size(), me = static_cast<std::size_t>(index);
  Pieces result;
  for (std::size_t p = 0; p < y[me].size(); ++p) {
    std::vector<Flat> all_x, all_y, chunks;
    for (const Pieces& member : x) all_x.push_back(member[p]);
    for (const Pieces& member : y) all_y.push_back(member[p]);
    for (const Flat& member : all_x) chunks.push_back(chunk(member, me, n));
    switch (call.kind) {
      case CommKind::all_reduce:
        result.push_back(combined(call.element, call.reduce, all_y));
        break;
      case CommKind::reduce_scatter:
        result.push_back(call.adds ? added(call.element, y[me][p], chunks)
                                   : combined(call.element, call.reduce, chunks));
        break;
      case CommKind::all_gather:
        result.push_back(concatenated(all_x));
        break;
      case CommKind::all_to_all:
        result.push_back(concatenated(chunks));
        break;
      case CommKind::broadcast:
        result.push_back(all_y.front());
        break;
      case CommKind::send:
      case CommKind::recv:
      case CommKind::barrier:
        result.push_back(y[me][p]);
        break;
    }
  }
  return result;
}

}  // namespace orrery::runtime::test
