#include "runtime/executor/arena.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "schedule/memory.h"

namespace orrery::runtime {
namespace {

using Interval = std::pair<std::int64_t, std::int64_t>;  // begin, end

// One address space. What was freed stays known, until something newer covers it: its place may be taken only by an op that
// surely comes after its last user.
class Space {
 public:
  Space(const StepPlan& plan, const Order& order, std::vector<std::int64_t>& offset)
      : plan_(plan), order_(order), offset_(offset) {}

  void place(std::uint32_t allocation, std::int64_t bytes) {
    const Allocation& a = plan_.allocations[allocation];
    std::vector<Interval> taken;
    for (const Occupant& o : occupants_)
      if (!o.freed || a.persistent || !order_.ends_before(o.freed_by, a.allocated_by)) taken.emplace_back(o.begin, o.end);
    std::sort(taken.begin(), taken.end());
    std::int64_t at = 0;
    for (const auto& [begin, end] : taken) {
      if (begin - at >= bytes) break;
      at = std::max(at, end);
    }
    offset_[allocation] = at;
    size_ = std::max(size_, at + bytes);
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    cover(at, at + bytes);
    if (bytes > 0) occupants_.push_back({at, at + bytes, allocation, false, 0});
  }

  void free(std::uint32_t allocation, std::int64_t bytes) {
    live_ -= bytes;
    for (Occupant& o : occupants_)
      if (!o.freed && o.allocation == allocation) {
        o.freed = true;
        o.freed_by = plan_.allocations[allocation].freed_by;
      }
  }

  // Called for all allocations in host issue order, when all are placed. Only the last occupants of the step before
  // matter, and of the new step's the first at each address: the others come after those.
  void follow_previous_step(std::uint32_t allocation, std::int64_t bytes, std::vector<ArenaPlan::Wait>& waits) {
    const std::int64_t begin = offset_[allocation], end = begin + bytes;
    for (const Interval& piece : uncovered(begin, end))
      for (const Occupant& o : occupants_)
        if (o.freed && o.begin < piece.second && o.end > piece.first &&
            !order_.ended_in_previous_step(o.freed_by, plan_.allocations[allocation].allocated_by))
          waits.push_back({plan_.allocations[allocation].allocated_by, o.freed_by});
    add_covered(begin, end);
  }

  std::int64_t size() const { return size_; }
  std::int64_t peak() const { return peak_; }

 private:
  struct Occupant {
    std::int64_t begin = 0, end = 0;
    std::uint32_t allocation = 0;
    bool freed = false;
    std::uint32_t freed_by = 0;
  };

  // Whoever comes after the new occupant also comes after the old ones below it.
  void cover(std::int64_t begin, std::int64_t end) {
    std::vector<Occupant> kept;
    for (const Occupant& o : occupants_) {
      if (!o.freed || o.end <= begin || o.begin >= end) {
        kept.push_back(o);
        continue;
      }
      if (o.begin < begin) kept.push_back({o.begin, begin, o.allocation, true, o.freed_by});
      if (o.end > end) kept.push_back({end, o.end, o.allocation, true, o.freed_by});
    }
    occupants_ = std::move(kept);
  }

  std::vector<Interval> uncovered(std::int64_t begin, std::int64_t end) const {
    std::vector<Interval> pieces;
    for (const auto& [from, to] : covered_) {
      if (to <= begin) continue;
      if (from >= end) break;
      if (from > begin) pieces.emplace_back(begin, from);
      begin = to;
    }
    if (begin < end) pieces.emplace_back(begin, end);
    return pieces;
  }

  // Sorted, disjoint.
  void add_covered(std::int64_t begin, std::int64_t end) {
    std::vector<Interval> merged;
    for (const Interval& c : covered_) {
      if (c.second < begin || c.first > end) {
        merged.push_back(c);
        continue;
      }
      begin = std::min(begin, c.first);
      end = std::max(end, c.second);
    }
    merged.insert(std::upper_bound(merged.begin(), merged.end(), Interval{begin, end}), {begin, end});
    covered_ = std::move(merged);
  }

  const StepPlan& plan_;
  const Order& order_;
  std::vector<std::int64_t>& offset_;
  std::vector<Occupant> occupants_;
  std::vector<Interval> covered_;  // by allocations of the new step
  std::int64_t size_ = 0, live_ = 0, peak_ = 0;
};

class ArenaPlanner {
 public:
  ArenaPlanner(const StepPlan& plan, const Order& order, const ElementBytes& element_bytes)
      : plan_(plan), element_bytes_(element_bytes),
        device_(plan, order, arena_.offset), host_(plan, order, arena_.offset) {
    arena_.offset.assign(plan.allocations.size(), 0);
  }

  ArenaPlan run() {
    std::uint32_t next = 0;
    for (; next < plan_.allocations.size() && plan_.allocations[next].persistent; ++next) place(next);
    std::vector<std::vector<std::uint32_t>> freed_by(plan_.ops.size());
    for (std::uint32_t a = next; a < plan_.allocations.size(); ++a) freed_by[plan_.allocations[a].freed_by].push_back(a);
    for (std::uint32_t op = 0; op < plan_.ops.size(); ++op) {
      for (; next < plan_.allocations.size() && plan_.allocations[next].allocated_by == op; ++next) place(next);
      for (const std::uint32_t a : freed_by[op]) space(a).free(a, bytes(a));
    }
    arena_.device_bytes = device_.size();
    arena_.host_bytes = host_.size();
    arena_.peak_live_bytes = device_.peak();
    arena_.peak_host_bytes = host_.peak();
    order_steps();
    return std::move(arena_);
  }

 private:
  std::int64_t bytes(std::uint32_t allocation) const {
    const schedule::Buffer& b = plan_.buffer(plan_.allocations[allocation]);
    const std::int64_t size = b.elements * element_bytes_[static_cast<std::size_t>(b.type)];
    return (size + schedule::kAllocationGrain - 1) / schedule::kAllocationGrain * schedule::kAllocationGrain;
  }
  bool on_host(std::uint32_t allocation) const { return plan_.buffer(plan_.allocations[allocation]).on_host; }
  Space& space(std::uint32_t allocation) { return on_host(allocation) ? host_ : device_; }
  void place(std::uint32_t allocation) { space(allocation).place(allocation, bytes(allocation)); }

  // The next step's ops may start while this one's still run. Where places overlap and nothing orders the two, a wait does.
  // All of a step can end before the next begins, so such a wait can close no circle.
  void order_steps() {
    for (std::uint32_t a = 0; a < plan_.allocations.size(); ++a)
      if (!plan_.allocations[a].persistent) space(a).follow_previous_step(a, bytes(a), arena_.waits);
    keep_latest();
  }

  // Of several waits of an op for one stream, the latest entry includes the others.
  void keep_latest() {
    const auto stream = [&](const ArenaPlan::Wait& w) { return plan_.ops[w.of_previous_step].op->stream; };
    const auto entry = [&](const ArenaPlan::Wait& w) { return plan_.ops[w.of_previous_step].entry; };
    std::sort(arena_.waits.begin(), arena_.waits.end(), [&](const ArenaPlan::Wait& a, const ArenaPlan::Wait& b) {
      return std::tuple(a.op, stream(a), entry(b)) < std::tuple(b.op, stream(b), entry(a));
    });
    const auto same = [&](const ArenaPlan::Wait& a, const ArenaPlan::Wait& b) { return a.op == b.op && stream(a) == stream(b); };
    arena_.waits.erase(std::unique(arena_.waits.begin(), arena_.waits.end(), same), arena_.waits.end());
  }

  const StepPlan& plan_;
  const ElementBytes& element_bytes_;
  ArenaPlan arena_;
  Space device_, host_;
};

}  // namespace

ArenaPlan plan_arena(const StepPlan& plan, const Order& order, const ElementBytes& element_bytes) {
  return ArenaPlanner(plan, order, element_bytes).run();
}

void add_waits(StepPlan& plan, const std::vector<ArenaPlan::Wait>& waits) {
  std::vector<PlannedWait> all;
  all.reserve(plan.waits.size() + waits.size());
  std::size_t next = 0;
  for (std::uint32_t id = 0; id < plan.ops.size(); ++id) {
    PlannedOp& op = plan.ops[id];
    const auto old = plan.waits_of(op);
    const auto first = static_cast<std::uint32_t>(all.size());
    all.insert(all.end(), old.begin(), old.end());
    for (; next < waits.size() && waits[next].op == id; ++next) all.push_back({waits[next].of_previous_step, true});
    op.first_wait = first;
    op.wait_count = static_cast<std::uint32_t>(all.size()) - first;
  }
  plan.waits = std::move(all);
}

}  // namespace orrery::runtime
