// A priority queue of events ordered by (time, entity): a 4-ary heap in one flat vector. The order is total
// and does not depend on the order of insertion, so another queue gives the same simulation. Cost: log4(n)
// levels a pop; the four children of a node are neighbours in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery::sim::engine {

struct Event {
  std::int64_t time = 0;  // ps
  std::uint32_t entity = 0;
  bool before(const Event& other) const {
    return time < other.time || (time == other.time && entity < other.entity);
  }
};

class EventQueue {
 public:
  void reserve(std::size_t count) { heap_.reserve(count); }
  bool empty() const { return heap_.empty(); }
  const Event& top() const { return heap_.front(); }

  void push(Event event) {
    std::size_t at = heap_.size();
    heap_.push_back(event);
    while (at > 0) {
      const std::size_t parent = (at - 1) / 4;
      if (!event.before(heap_[parent])) break;
      heap_[at] = heap_[parent];
      at = parent;
    }
    heap_[at] = event;
  }

  void pop() {
    const Event last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return;
    const std::size_t size = heap_.size();
    std::size_t at = 0;
    for (std::size_t child = 1; child < size; child = 4 * at + 1) {
      const std::size_t end = child + 4 < size ? child + 4 : size;
      std::size_t least = child;
      for (std::size_t i = child + 1; i < end; ++i) least = heap_[i].before(heap_[least]) ? i : least;
      if (!heap_[least].before(last)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = last;
  }

 private:
  std::vector<Event> heap_;
};

}  // namespace orrery::sim::engine
