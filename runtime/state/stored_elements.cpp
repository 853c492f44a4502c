#include "runtime/state/stored_elements.h"

#include <array>
#include <utility>

namespace orrery::runtime {
namespace {

constexpr std::array<std::pair<Element, std::string_view>, 4> kWords{
    {{Element::fp32, "fp32"}, {Element::fp64, "fp64"}, {Element::bf16, "bf16"}, {Element::fp16, "fp16"}}};

}  // namespace

std::string_view stored_word(Element element) {
  for (const auto& [known, word] : kWords)
    if (known == element) return word;
  check_failed("training state is floating point", __FILE__, __LINE__, fmt::format("{}", static_cast<int>(element)));
}

std::optional<Element> stored_element(std::string_view word) {
  for (const auto& [element, known] : kWords)
    if (known == word) return element;
  return std::nullopt;
}

void convert(StoredSpan from, std::int64_t count, std::byte* to, Element to_element) {
  if (from.element == to_element) {
    std::memcpy(to, from.data, static_cast<std::size_t>(count * stored_bytes(to_element)));
    return;
  }
  visit_element(from.element, [&](auto source) {
    visit_element(to_element, [&](auto target) {
      using Source = decltype(source);
      using Target = decltype(target);
      for (std::int64_t i = 0; i < count; ++i)
        store_element<Target>(to + i * static_cast<std::int64_t>(sizeof(Target)),
                              load_element<Source>(from.data + i * static_cast<std::int64_t>(sizeof(Source))));
    });
  });
}

}  // namespace orrery::runtime
