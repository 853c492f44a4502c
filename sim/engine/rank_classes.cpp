// See rank_classes.h. Colours of ranks are dense numbers, relabelled each round in order of first appearance,
// so the classes come out ordered by their lowest rank.
#include "sim/engine/rank_classes.h"

#include <unordered_map>

#include "schedule/expert_rows.h"
#include "sim/engine/mix.h"

namespace orrery::sim::engine {
namespace {

using schedule::Schedule;

class Refiner {
 public:
  Refiner(const Schedule& schedule, const hardware::Cluster& cluster, const Messages& messages,
          const PlanTable& plans, const ResourceUse& use)
      : schedule_(schedule), messages_(messages), plans_(plans), use_(use) {
    const auto world = static_cast<std::size_t>(schedule.world);
    std::vector<std::uint64_t> keys(world);
    for (std::size_t r = 0; r < world; ++r)
      keys[r] = static_cast<std::uint64_t>(schedule.program_group.index(static_cast<std::int64_t>(r)));
    if (schedule.expert_rows.drawn.size() > 1)
      for (std::size_t r = 0; r < world; ++r)
        keys[r] = mix(keys[r], static_cast<std::uint64_t>(
                                   schedule::drawn_rows_of(schedule, static_cast<std::int64_t>(r))));
    for (const auto& [rank, speed] : cluster.slow_gpus)
      if (rank >= 0 && rank < schedule.world && speed != 1.0)
        keys[static_cast<std::size_t>(rank)] =
            mix(keys[static_cast<std::size_t>(rank)], static_cast<std::uint64_t>(speed * 1e15));
    found_.meeting.assign(messages.relations.size(), std::vector<std::uint64_t>(world, 0));
    found_.resource.assign(use.first_of_resource.empty() ? 0 : use.first_of_resource.size() - 1, 0);
    classes_ = relabel(keys);
  }

  RankClasses classes() {
    std::size_t before = 0;
    do {
      before = classes_;
      color_meetings();
      color_resources();
      color_ranks();
    } while (classes_ != before);
    for (std::uint32_t r = 0; r < found_.class_of.size(); ++r) {
      if (found_.class_of[r] == found_.representative.size()) {
        found_.representative.push_back(r);
        found_.size.push_back(0);
      }
      ++found_.size[found_.class_of[r]];
    }
    return std::move(found_);
  }

 private:
  std::size_t relabel(const std::vector<std::uint64_t>& keys) {
    std::unordered_map<std::uint64_t, std::uint32_t> labels;
    found_.class_of.resize(keys.size());
    for (std::size_t r = 0; r < keys.size(); ++r)
      found_.class_of[r] =
          labels.try_emplace(keys[r], static_cast<std::uint32_t>(labels.size())).first->second;
    return labels.size();
  }

  std::uint64_t color(std::int64_t rank) const { return found_.class_of[static_cast<std::size_t>(rank)]; }

  void color_meetings() {
    for (std::uint32_t c = 0; c < messages_.relations.size(); ++c) {
      const bool pair = messages_.relations[c].point_to_point;
      for (std::size_t i = 0; i < plans_.row_of[c].size(); ++i) {
        if (plans_.row_of[c][i] == kNone) continue;
        members_of(schedule_, messages_.relations[c], static_cast<std::int64_t>(i), members_);
        std::uint64_t sum = 0;
        for (std::size_t m = 0; m < members_.size(); ++m)
          sum += mix(color(members_[m]) * 2 + (pair && m == 0 ? 1 : 0));
        found_.meeting[c][i] = mix(plans_.row_of[c][i], sum, c);
      }
    }
  }

  void color_resources() {
    for (std::size_t k = 0; k < found_.resource.size(); ++k) found_.resource[k] = 0;
    for (std::size_t r = 0; r < found_.class_of.size(); ++r)
      for (std::size_t i = use_.first_of_rank[r]; i < use_.first_of_rank[r + 1]; ++i)
        found_.resource[use_.of_rank[i].first] += mix(found_.class_of[r], use_.of_rank[i].second);
  }

  void color_ranks() {
    std::vector<std::uint64_t> keys(found_.class_of.size());
    for (std::size_t r = 0; r < keys.size(); ++r) {
      std::uint64_t sum = 0;
      const auto rank = static_cast<std::int64_t>(r);
      for (const RelationUse& use :
           messages_.uses[static_cast<std::size_t>(schedule_.program_group.index(rank))]) {
        const std::int64_t instance =
            instance_of(schedule_, messages_.relations[use.relation], rank, use.side);
        sum += mix(static_cast<std::uint64_t>(use.side),
                   found_.meeting[use.relation][static_cast<std::size_t>(instance)]);
      }
      for (std::size_t i = use_.first_of_rank[r]; i < use_.first_of_rank[r + 1]; ++i)
        sum += mix(use_.of_rank[i].second, found_.resource[use_.of_rank[i].first]);
      keys[r] = mix(found_.class_of[r], sum);
    }
    classes_ = relabel(keys);
  }

  const Schedule& schedule_;
  const Messages& messages_;
  const PlanTable& plans_;
  const ResourceUse& use_;
  RankClasses found_;
  std::size_t classes_ = 0;
  std::vector<std::int64_t> members_;
};

}  // namespace

RankClasses classify_ranks(const Schedule& schedule, const hardware::Cluster& cluster,
                           const Messages& messages, const PlanTable& plans, const ResourceUse& use) {
  return Refiner(schedule, cluster, messages, plans, use).classes();
}

RankClasses all_apart(const Schedule& schedule, const Messages& messages, std::uint32_t resources) {
  RankClasses apart;
  const auto world = static_cast<std::uint32_t>(schedule.world);
  apart.meeting.resize(messages.relations.size());
  for (std::uint32_t r = 0; r < world; ++r) {
    apart.class_of.push_back(r);
    apart.representative.push_back(r);
    apart.size.push_back(1);
    for (auto& of_relation : apart.meeting) of_relation.push_back(r);
  }
  for (std::uint32_t k = 0; k < resources; ++k) apart.resource.push_back(k);
  return apart;
}

}  // namespace orrery::sim::engine
