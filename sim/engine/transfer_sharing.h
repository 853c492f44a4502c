// The transfers that are running and the resources they load. A resource whose weights sum to at most its
// capacity never binds, so transfers are connected only through resources that are over-subscribed: a
// transfer that meets nobody there costs a few additions and no solve. At the end of an instant, the
// connected component of every resource that changed while over-subscribed is solved again (sharing.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/sharing.h"

namespace orrery::sim::engine {

class TransferSharing {
 public:
  // `most_loads` of each transfer slot: room for its entries.
  TransferSharing(std::uint32_t resources, const std::vector<std::uint32_t>& most_loads);

  void begin(std::uint32_t transfer, std::span<const Load> loads);
  void end(std::uint32_t transfer);
  bool changed() const { return !dirty_.empty(); }

  // Calls set_rate(transfer, rate) for every transfer of the components that changed.
  template <typename SetRate>
  void settle(SetRate&& set_rate) {
    collect_dirty();
    const std::span<const std::int64_t> rates = solve();
    for (std::size_t i = 0; i < component_.size(); ++i) set_rate(component_[i], rates[i]);
    component_.clear();
  }

 private:
  struct Entry {  // of a transfer on a resource's list
    std::uint32_t resource = 0, weight = 0, transfer = 0;
    std::uint32_t next = 0, previous = 0;
  };
  struct Resource {
    std::int64_t used = 0;
    std::uint32_t head = kEnd;
    std::uint32_t local = 0;  // number in the problem being solved
    std::uint32_t seen = 0;   // last solve that visited it
    bool dirty = false;
  };
  static constexpr std::uint32_t kEnd = 0xffffffff;

  void touch(Resource& resource, std::uint32_t index);
  void collect_dirty();
  void add_transfers_of(std::uint32_t resource);
  std::span<const std::int64_t> solve();

  std::vector<Resource> resources_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> first_entry_;  // [transfer]
  std::vector<std::uint32_t> entry_count_;  // [transfer], while it runs
  std::vector<std::uint32_t> seen_;         // [transfer]
  std::vector<std::uint32_t> dirty_;
  std::vector<std::uint32_t> component_;
  std::vector<Load> local_loads_;
  std::uint32_t round_ = 0;
  MaxMinSolver solver_;
};

}  // namespace orrery::sim::engine
