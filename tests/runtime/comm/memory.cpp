#include "tests/runtime/comm/memory.h"

#include <algorithm>

namespace orrery::runtime::test {
namespace {

constexpr std::byte kUntouched{0xA5};
constexpr std::int64_t kMargin = 8;  // elements

}  // namespace

Rectangle::Rectangle(Element element, std::int64_t count, Layout layout)
    : bytes_(bytes_of(element)), columns_(count), stride_(count) {
  for (const std::int64_t rows : {2, 3, 5, 7})
    if (layout == Layout::rows && count > 0 && count % rows == 0) rows_ = rows;
  for (const std::int64_t columns : {1, 2, 3})
    if (layout == Layout::narrow && count > 0 && count % columns == 0) rows_ = count / columns;
  columns_ = count / rows_;
  stride_ = layout == Layout::flat ? columns_ : columns_ + 3;
  memory_.assign(static_cast<std::size_t>((rows_ * stride_ + 2 * kMargin) * bytes_), kUntouched);
}

std::size_t Rectangle::place(std::int64_t index) const {
  return static_cast<std::size_t>((kMargin + index / columns_ * stride_ + index % columns_) * bytes_);
}

Piece Rectangle::piece() { return {memory_.data() + kMargin * bytes_, rows_, columns_, stride_}; }

void Rectangle::fill(const Flat& values) {
  for (std::int64_t i = 0; i < rows_ * columns_; ++i)
    std::copy_n(values.begin() + i * bytes_, bytes_, memory_.begin() + static_cast<std::ptrdiff_t>(place(i)));
}

Flat Rectangle::values() const {
  Flat flat(static_cast<std::size_t>(rows_ * columns_ * bytes_));
  for (std::int64_t i = 0; i < rows_ * columns_; ++i)
    std::copy_n(memory_.begin() + static_cast<std::ptrdiff_t>(place(i)), bytes_, flat.begin() + i * bytes_);
  return flat;
}

bool Rectangle::margins_untouched() const {
  std::vector<bool> inside(memory_.size(), false);
  for (std::int64_t i = 0; i < rows_ * columns_; ++i)
    std::fill_n(inside.begin() + static_cast<std::ptrdiff_t>(place(i)), bytes_, true);
  for (std::size_t i = 0; i < memory_.size(); ++i)
    if (!inside[i] && memory_[i] != kUntouched) return false;
  return true;
}

std::vector<Rectangle> rectangles(const Pieces& values, Element element, Layout layout) {
  std::vector<Rectangle> result;
  for (const Flat& flat : values) {
    result.emplace_back(element, static_cast<std::int64_t>(flat.size()) / bytes_of(element), layout);
    result.back().fill(flat);
  }
  return result;
}

std::vector<Piece> pieces(std::vector<Rectangle>& rectangles) {
  std::vector<Piece> result;
  for (Rectangle& rectangle : rectangles) result.push_back(rectangle.piece());
  return result;
}

Pieces values(const std::vector<Rectangle>& rectangles) {
  Pieces result;
  for (const Rectangle& rectangle : rectangles) result.push_back(rectangle.values());
  return result;
}

bool margins_untouched(const std::vector<Rectangle>& rectangles) {
  return std::all_of(rectangles.begin(), rectangles.end(), [](const Rectangle& r) { return r.margins_untouched(); });
}

}  // namespace orrery::runtime::test
