#include "tests/interpreter/memory.h"

#include <fmt/format.h>

#include <limits>

namespace orrery::interpreter {

double* Allocation::touch() {
  if (gone_) throw ScheduleError(fmt::format("{} is used after the op that freed it has run", label_));
  if (previous_ != nullptr && !previous_->gone_)
    throw ScheduleError(fmt::format("{} is used again before the op that freed it has run", label_));
  if (!made_) values_.assign(static_cast<std::size_t>(elements_), std::numeric_limits<double>::quiet_NaN());
  made_ = true;
  return values_.data();
}

void Allocation::release() {
  gone_ = true;
  std::vector<double>().swap(values_);
}

RankMemory::RankMemory(const schedule::Program& program, std::int64_t rank) : program_(program), rank_(rank) {
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const schedule::Buffer& buffer = program.buffers[b];
    live_.emplace_back(buffer.instances, nullptr);
    last_.emplace_back(buffer.instances, nullptr);
    if (!buffer.persistent && buffer.elements > 0) continue;
    for (std::uint32_t i = 0; i < buffer.instances; ++i) allocate(BufferId(b), i);
  }
}

std::string RankMemory::label(BufferId buffer, std::uint32_t instance) const {
  return fmt::format("rank {}: {}[{}]", rank_, program_.buffers[buffer.index()].name, instance);
}

Allocation*& RankMemory::place(BufferId buffer, std::uint32_t instance) {
  if (buffer.index() >= live_.size()) throw ScheduleError(fmt::format("rank {}: no buffer {}", rank_, buffer.value));
  std::vector<Allocation*>& instances = live_[buffer.index()];
  if (instance >= instances.size())
    throw ScheduleError(fmt::format("{}: there are {} instances", label(buffer, instance), instances.size()));
  return instances[instance];
}

Allocation& RankMemory::current(BufferId buffer, std::uint32_t instance) {
  Allocation* const live = place(buffer, instance);
  if (live == nullptr) throw ScheduleError(label(buffer, instance) + " is used while it is not allocated");
  return *live;
}

void RankMemory::allocate(BufferId buffer, std::uint32_t instance) {
  Allocation*& live = place(buffer, instance);
  if (live != nullptr) throw ScheduleError(label(buffer, instance) + " is allocated twice");
  Allocation*& last = last_[buffer.index()][instance];
  last = live = &all_.emplace_back(label(buffer, instance), program_.buffers[buffer.index()].elements, last);
}

void RankMemory::free(BufferId buffer, std::uint32_t instance) {
  Allocation*& live = place(buffer, instance);
  if (live == nullptr) throw ScheduleError(label(buffer, instance) + " is freed while it is not allocated");
  if (program_.buffers[buffer.index()].persistent)
    throw ScheduleError(label(buffer, instance) + " is persistent and freed");
  live = nullptr;
}

}  // namespace orrery::interpreter
