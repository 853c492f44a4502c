// For builders of orders: appends the next microbatch's F, B or W of a chunk, and nothing where there is none left
// or what it needs is not there yet. So an order reads as its counts, and too few microbatches cut each of them short.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "schedule/compile/pipeline_order.h"

namespace orrery::schedule {

class ActionList {
 public:
  // Of each chunk; the i-th one of chunk c is number i * stride + c * (stride - 1) where streams of microbatches meet
  // (stride 2, two chunks: even and odd ones), else i.
  explicit ActionList(std::int64_t microbatches, std::uint32_t chunks = 1, std::uint32_t stride = 1)
      : microbatches_(microbatches), stride_(stride), counts_(chunks) {
    order_.reserve(static_cast<std::size_t>(3 * microbatches) * chunks);
  }

  void forward(std::uint32_t chunk = 0) {
    if (counts_[chunk].forwards < microbatches_) append(ActionKind::forward, chunk, counts_[chunk].forwards);
  }
  void input(std::uint32_t chunk = 0) {  // B
    Counts& c = counts_[chunk];
    if (c.inputs == c.forwards) return;
    append(ActionKind::backward_input, chunk, c.inputs);
    waiting_.push_back(chunk);
  }
  void weight(std::uint32_t chunk = 0) {  // W
    Counts& c = counts_[chunk];
    if (c.weights == c.inputs) return;
    append(ActionKind::backward_weight, chunk, c.weights);
    for (auto w = waiting_.begin(); w != waiting_.end(); ++w)
      if (*w == chunk) {
        waiting_.erase(w);
        break;
      }
  }
  void next_weight() {  // of the chunk whose B has waited longest
    if (!waiting_.empty()) weight(waiting_.front());
  }
  void whole(std::uint32_t chunk = 0) {  // B and W at once, where no W of the chunk is left from before
    Counts& c = counts_[chunk];
    if (c.inputs == c.forwards) return;
    append(ActionKind::backward, chunk, c.inputs);
    ++c.weights;
  }
  // F of one chunk and the whole backward of the other, as one block (F&B).
  void both(std::uint32_t forward_chunk, std::uint32_t backward_chunk) {
    const std::size_t before = order_.size();
    whole(backward_chunk);
    forward(forward_chunk);
    if (order_.size() != before + 2) return;
    order_[before].joined = Joined::begins;
    order_[before + 1].joined = Joined::ends;
  }

  std::int64_t forwards(std::uint32_t chunk = 0) const { return counts_[chunk].forwards; }
  bool complete() const {
    for (const Counts& c : counts_)
      if (c.weights < microbatches_) return false;
    return true;
  }
  Order take() { return std::move(order_); }

 private:
  struct Counts {
    std::int64_t forwards = 0, inputs = 0, weights = 0;
  };
  void append(ActionKind kind, std::uint32_t chunk, std::int64_t& next) {
    const auto microbatch = static_cast<std::uint32_t>(next++) * stride_ + chunk * (stride_ - 1);
    order_.push_back({.kind = kind, .chunk = chunk, .microbatch = microbatch});
  }

  std::int64_t microbatches_;
  std::uint32_t stride_;
  std::vector<Counts> counts_;
  std::deque<std::uint32_t> waiting_;  // chunks of B without W, in order
  Order order_;
};

}  // namespace orrery::schedule
