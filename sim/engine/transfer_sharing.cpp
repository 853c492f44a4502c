// See transfer_sharing.h. Components are found breadth first from the dirty resources; all dirty components
// of an instant are put into one problem, since filling keeps separate components apart.
#include "sim/engine/transfer_sharing.h"

namespace orrery::sim::engine {

TransferSharing::TransferSharing(std::uint32_t resources, const std::vector<std::uint32_t>& most_loads)
    : resources_(resources), entry_count_(most_loads.size(), 0), seen_(most_loads.size(), 0) {
  std::uint32_t entries = 0;
  for (const std::uint32_t most : most_loads) {
    first_entry_.push_back(entries);
    entries += most;
  }
  entries_.resize(entries);
}

void TransferSharing::touch(Resource& resource, std::uint32_t index) {
  if (resource.used <= kFullLoad || resource.dirty) return;
  resource.dirty = true;
  dirty_.push_back(index);
}

void TransferSharing::begin(std::uint32_t transfer, std::span<const Load> loads) {
  entry_count_[transfer] = static_cast<std::uint32_t>(loads.size());
  std::uint32_t at = first_entry_[transfer];
  for (const Load& load : loads) {
    Resource& resource = resources_[load.resource];
    entries_[at] = {load.resource, load.weight, transfer, resource.head, kEnd};
    if (resource.head != kEnd) entries_[resource.head].previous = at;
    resource.head = at++;
    resource.used += load.weight;
    touch(resource, load.resource);
  }
}

void TransferSharing::end(std::uint32_t transfer) {
  const std::uint32_t first = first_entry_[transfer];
  for (std::uint32_t at = first; at < first + entry_count_[transfer]; ++at) {
    const Entry& entry = entries_[at];
    Resource& resource = resources_[entry.resource];
    touch(resource, entry.resource);
    resource.used -= entry.weight;
    if (entry.previous != kEnd)
      entries_[entry.previous].next = entry.next;
    else
      resource.head = entry.next;
    if (entry.next != kEnd) entries_[entry.next].previous = entry.previous;
  }
  entry_count_[transfer] = 0;
}

void TransferSharing::add_transfers_of(std::uint32_t resource) {
  if (resources_[resource].seen == round_) return;
  resources_[resource].seen = round_;
  for (std::uint32_t at = resources_[resource].head; at != kEnd; at = entries_[at].next) {
    const std::uint32_t transfer = entries_[at].transfer;
    if (seen_[transfer] == round_) continue;
    seen_[transfer] = round_;
    component_.push_back(transfer);
  }
}

void TransferSharing::collect_dirty() {
  ++round_;
  for (const std::uint32_t resource : dirty_) {
    resources_[resource].dirty = false;
    add_transfers_of(resource);
  }
  dirty_.clear();
  for (std::size_t i = 0; i < component_.size(); ++i) {
    const std::uint32_t first = first_entry_[component_[i]];
    for (std::uint32_t at = first; at < first + entry_count_[component_[i]]; ++at)
      if (resources_[entries_[at].resource].used > kFullLoad) add_transfers_of(entries_[at].resource);
  }
}

std::span<const std::int64_t> TransferSharing::solve() {
  solver_.clear();
  ++round_;
  std::uint32_t locals = 0;
  for (const std::uint32_t transfer : component_) {
    local_loads_.clear();
    const std::uint32_t first = first_entry_[transfer];
    for (std::uint32_t at = first; at < first + entry_count_[transfer]; ++at) {
      Resource& resource = resources_[entries_[at].resource];
      if (resource.used <= kFullLoad) continue;
      if (resource.seen != round_) resource.local = locals++;
      resource.seen = round_;
      local_loads_.push_back({resource.local, entries_[at].weight});
    }
    solver_.add_activity(local_loads_);
  }
  return solver_.solve();
}

}  // namespace orrery::sim::engine
