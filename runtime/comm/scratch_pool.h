// Buffers of one size, used again and again: after the first steps nothing is allocated. For one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace orrery::runtime {

class ScratchPool {
 public:
  explicit ScratchPool(std::size_t bytes) : bytes_(bytes) {}

  std::byte* take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<std::byte[]>(bytes_));  // aligned for any element
      free_.reserve(all_.size());
      return all_.back().get();
    }
    std::byte* const buffer = free_.back();
    free_.pop_back();
    return buffer;
  }
  void give(std::byte* buffer) { free_.push_back(buffer); }

 private:
  std::size_t bytes_;
  std::vector<std::unique_ptr<std::byte[]>> all_;
  std::vector<std::byte*> free_;
};

}  // namespace orrery::runtime
