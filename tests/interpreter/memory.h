// The memory of one rank, as its host sees it: allocations begin and end in issue order, each fresh one is filled
// with NaN (so that reading before writing shows), and each has storage of its own. Three errors are told apart:
//  - at issue: an op names an instance that is not allocated, allocates one twice, or frees what is not there;
//  - at run time: an op touches an allocation after the op that freed it has run (its stream did not wait for it);
//  - or before the op that freed the instance's last allocation has run: a device would give both the same memory.
// Storage is made at the first touch and dropped at the free, so a long program needs little memory.
#pragma once

#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "schedule/ir.h"

namespace orrery::interpreter {

struct ScheduleError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Allocation {
 public:
  Allocation(std::string label, std::int64_t elements, const Allocation* previous)
      : label_(std::move(label)), elements_(elements), previous_(previous) {}
  const std::string& label() const { return label_; }
  std::int64_t elements() const { return elements_; }
  double* touch();  // throws ScheduleError when it is gone
  void release();

 private:
  std::string label_;
  std::int64_t elements_;
  const Allocation* previous_;  // of the same instance; null for the first
  std::vector<double> values_;
  bool made_ = false, gone_ = false;
};

class RankMemory {
 public:
  RankMemory(const schedule::Program& program, std::int64_t rank);
  // The live allocation of an instance; throws ScheduleError where there is none.
  Allocation& current(BufferId buffer, std::uint32_t instance);
  void allocate(BufferId buffer, std::uint32_t instance);
  void free(BufferId buffer, std::uint32_t instance);

 private:
  Allocation*& place(BufferId buffer, std::uint32_t instance);
  std::string label(BufferId buffer, std::uint32_t instance) const;
  const schedule::Program& program_;
  std::int64_t rank_;
  std::vector<std::vector<Allocation*>> live_, last_;  // [buffer][instance]
  std::deque<Allocation> all_;
};

}  // namespace orrery::interpreter
