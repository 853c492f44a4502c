// An array placed as an arena places a schedule's buffers: on a cache line, and not where the others of the
// same benchmark are modulo 4 KiB, which large vectors all are, and 16 bytes off the line besides: then half
// of all loads touch two lines, and streams get into each other's way (STREAM's OFFSET is there for that).
#pragma once

#include <cstddef>
#include <vector>

namespace orrery::kernels::bench {

template <typename T>
class Buffer {
 public:
  // place: 0, 1, 2 ... among the buffers that are used together.
  Buffer(std::size_t count, std::size_t place, T value = {}) : count_(count) {
    constexpr std::size_t distance = 1280;  // five times 256: no two of sixteen places meet
    const std::size_t skipped = distance * place / sizeof(Line);
    lines_.resize(skipped + (count * sizeof(T) + sizeof(Line) - 1) / sizeof(Line));
    data_ = lines_[skipped].elements;
    for (std::size_t i = 0; i < count; ++i) data_[i] = value;
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return count_; }
  T& operator[](std::size_t i) { return data_[i]; }

 private:
  struct alignas(64) Line {
    T elements[64 / sizeof(T)];
  };
  std::size_t count_;
  std::vector<Line> lines_;
  T* data_;
};

}  // namespace orrery::kernels::bench
