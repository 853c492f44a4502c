// Elements of training state in bytes: floating point of four widths. Bytes may lie at any address (those of a file
// do), so elements go in and out by memcpy, which costs nothing. From one width to another they are rounded to
// nearest even, as the optimizer rounds master weights; of equal widths they are copied bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/check.h"
#include "kernels/float_types.h"
#include "runtime/comm/communicator.h"

namespace orrery::runtime {

// Calls visit(T{}) with the C++ type of the elements.
template <typename Visit>
decltype(auto) visit_element(Element element, Visit&& visit) {
  switch (element) {
    case Element::fp32:
      return visit(float{});
    case Element::fp64:
      return visit(double{});
    case Element::bf16:
      return visit(kernels::bf16{});
    case Element::fp16:
      return visit(kernels::fp16{});
    case Element::int32:
    case Element::byte:
      break;
  }
  check_failed("training state is floating point", __FILE__, __LINE__, fmt::format("{}", static_cast<int>(element)));
}

inline std::int64_t stored_bytes(Element element) {
  return visit_element(element, [](auto type) { return static_cast<std::int64_t>(sizeof(type)); });
}

// "fp32", "fp64", "bf16", "fp16".
std::string_view stored_word(Element element);
std::optional<Element> stored_element(std::string_view word);

template <typename T>
double load_element(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return static_cast<double>(kernels::widen(value));
}

template <typename T>
void store_element(std::byte* at, double value) {
  const T narrow = kernels::narrow<T>(static_cast<kernels::Wide<T>>(value));
  std::memcpy(at, &narrow, sizeof(T));
}

struct StoredSpan {
  const std::byte* data = nullptr;
  Element element = Element::fp32;
};
// Writes `count` elements, in `to_element`'s type.
void convert(StoredSpan from, std::int64_t count, std::byte* to, Element to_element);

}  // namespace orrery::runtime
