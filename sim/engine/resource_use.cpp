// Asks the network once per (rank, relation, set of weights that are not 0): plans of one such set load the
// same resources in the same order, and with what weights is told by the row and that order. What the members
// of a meeting load together on a resource is summed in a scratch array over resources.
#include <algorithm>

#include "base/check.h"
#include "sim/engine/mix.h"
#include "sim/engine/rank_classes.h"

namespace orrery::sim::engine {
namespace {

using schedule::Schedule;

constexpr std::uint64_t kItsKernels = mix(1, 2);  // how a rank uses the cores of its machine, beside its transfers

struct Entry {
  std::uint32_t rank = 0, resource = 0;
  std::uint64_t how = 0;
};

class Collector {
 public:
  Collector(const Schedule& schedule, const Messages& messages, const PlanTable& plans,
            const NetworkModel& network)
      : schedule_(schedule),
        messages_(messages),
        plans_(plans),
        network_(network),
        sum_(network.resource_count(), 0) {}

  std::vector<Entry> entries() {
    for (std::uint32_t r = 0; r < messages_.relations.size(); ++r) {
      choose_plans(r);
      for (std::int64_t instance = 0; instance < schedule_.world; ++instance) {
        const std::uint32_t row = plans_.row_of[r][static_cast<std::size_t>(instance)];
        if (row == kNone || chosen_[row].empty()) continue;
        members_of(schedule_, messages_.relations[r], instance, members_);
        for (const std::uint32_t plan : chosen_[row]) add_meeting(r, row, plan);
      }
    }
    for (std::int64_t rank = 0; rank < schedule_.world; ++rank)
      if (const std::optional<Cores> cores = network_.cores_of(rank))
        entries_.push_back({static_cast<std::uint32_t>(rank), cores->resource, kItsKernels});
    return std::move(entries_);
  }

 private:
  // One plan for each set of weights that are not 0 in a row: it tells which resources all of these load.
  void choose_plans(std::uint32_t relation) {
    chosen_.clear();
    for (const auto& row : plans_.rows[relation]) {
      std::vector<std::uint32_t> chosen;
      for (const std::uint32_t plan : row) {
        const unsigned kind = resources_of(plans_.plans[plan]);
        const auto same = [&](std::uint32_t other) { return resources_of(plans_.plans[other]) == kind; };
        if (kind != 0 && std::none_of(chosen.begin(), chosen.end(), same)) chosen.push_back(plan);
      }
      chosen_.push_back(std::move(chosen));
    }
  }

  static unsigned resources_of(const TransferPlan& p) {
    const unsigned weights = (p.port_weight > 0 ? 1U : 0U) | (p.pcie_weight > 0 ? 2U : 0U) |
                             (p.nic_weight > 0 ? 4U : 0U) | (p.core_weight > 0 ? 32U : 0U);
    return weights == 0 ? 0U : weights | (p.port_is_pcie ? 8U : 0U) | (p.crosses_nodes ? 16U : 0U);
  }

  void add_meeting(std::uint32_t relation, std::uint32_t row, std::uint32_t plan) {
    const bool pair = messages_.relations[relation].point_to_point;
    const std::uint64_t what = mix(relation, row, plan);
    const std::size_t begin = entries_.size();
    for (std::size_t i = 0; i < members_.size(); ++i) {
      loads_.clear();
      const bool sends = !pair || i == 0, receives = !pair || i == 1;
      network_.loads(plans_.plans[plan], members_[i], sends, receives, loads_);
      const std::uint64_t side = (sends ? 2U : 0U) + (receives ? 1U : 0U);
      for (std::size_t place = 0; place < loads_.size(); ++place) {
        const Load& load = loads_[place];
        CHECK(load.resource < sum_.size(), load.resource, sum_.size());
        sum_[load.resource] += load.weight;
        const std::uint64_t way = what ^ mix(place * 4 + side, load.weight);
        entries_.push_back({static_cast<std::uint32_t>(members_[i]), load.resource, way});
      }
    }
    for (std::size_t i = begin; i < entries_.size(); ++i)
      entries_[i].how = mix(entries_[i].how ^ sum_[entries_[i].resource]);
    for (std::size_t i = begin; i < entries_.size(); ++i) sum_[entries_[i].resource] = 0;
  }

  const Schedule& schedule_;
  const Messages& messages_;
  const PlanTable& plans_;
  const NetworkModel& network_;
  std::vector<std::uint64_t> sum_;
  std::vector<std::vector<std::uint32_t>> chosen_;  // [row]
  std::vector<std::int64_t> members_;
  std::vector<Load> loads_;
  std::vector<Entry> entries_;
};

// Orders entries by rank, counting, and joins those of one rank and resource: their ways add up.
void index_by_rank(const std::vector<Entry>& entries, std::size_t world, ResourceUse& use) {
  std::vector<std::uint32_t> next(world + 1, 0);
  for (const Entry& e : entries) ++next[e.rank + 1];
  for (std::size_t r = 0; r < world; ++r) next[r + 1] += next[r];
  std::vector<std::pair<std::uint32_t, std::uint64_t>> sorted(entries.size());
  std::vector<std::uint32_t> begin = next;
  for (const Entry& e : entries) sorted[next[e.rank]++] = {e.resource, e.how};
  use.first_of_rank.push_back(0);
  for (std::size_t r = 0; r < world; ++r) {
    const std::size_t first = use.of_rank.size();
    for (std::size_t i = begin[r]; i < next[r]; ++i) {
      std::size_t at = first;
      while (at < use.of_rank.size() && use.of_rank[at].first != sorted[i].first) ++at;
      if (at == use.of_rank.size()) use.of_rank.emplace_back(sorted[i].first, 0);
      use.of_rank[at].second += sorted[i].second;
    }
    use.first_of_rank.push_back(static_cast<std::uint32_t>(use.of_rank.size()));
  }
}

void index_by_resource(std::size_t world, std::size_t resources, ResourceUse& use) {
  use.first_of_resource.assign(resources + 1, 0);
  for (const auto& [resource, how] : use.of_rank) ++use.first_of_resource[resource + 1];
  for (std::size_t k = 0; k < resources; ++k) use.first_of_resource[k + 1] += use.first_of_resource[k];
  use.of_resource.resize(use.of_rank.size());
  std::vector<std::uint32_t> next = use.first_of_resource;
  for (std::uint32_t r = 0; r < world; ++r)
    for (std::size_t i = use.first_of_rank[r]; i < use.first_of_rank[r + 1]; ++i)
      use.of_resource[next[use.of_rank[i].first]++] = r;
}

}  // namespace

ResourceUse find_resource_use(const Schedule& schedule, const Messages& messages, const PlanTable& plans,
                              const NetworkModel& network) {
  const auto world = static_cast<std::size_t>(schedule.world);
  ResourceUse use;
  index_by_rank(Collector(schedule, messages, plans, network).entries(), world, use);
  index_by_resource(world, network.resource_count(), use);
  return use;
}

ResourceUse no_resource_use(const Schedule& schedule) {
  ResourceUse use;
  use.first_of_rank.assign(static_cast<std::size_t>(schedule.world) + 1, 0);
  return use;
}

}  // namespace orrery::sim::engine
