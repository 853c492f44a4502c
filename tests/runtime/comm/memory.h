// Memory of one side of a call: rectangles with gaps and margins that nobody may touch.
#pragma once

#include <vector>

#include "tests/runtime/comm/elements.h"

namespace orrery::runtime::test {

enum class Layout : std::uint8_t { flat, rows, narrow };  // one row; several with gaps between; rows of few elements

// One piece and its memory.
class Rectangle {
 public:
  Rectangle(Element element, std::int64_t count, Layout layout);
  Piece piece();
  void fill(const Flat& values);
  Flat values() const;
  bool margins_untouched() const;

 private:
  std::size_t place(std::int64_t index) const;  // of an element's bytes
  std::int64_t bytes_ = 1, rows_ = 1, columns_ = 0, stride_ = 0;
  std::vector<std::byte> memory_;
};

std::vector<Rectangle> rectangles(const Pieces& values, Element element, Layout layout);
std::vector<Piece> pieces(std::vector<Rectangle>& rectangles);
Pieces values(const std::vector<Rectangle>& rectangles);
bool margins_untouched(const std::vector<Rectangle>& rectangles);

}  // namespace orrery::runtime::test
