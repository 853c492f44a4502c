#include "runtime/executor/expert_counts.h"

namespace orrery::runtime {

std::int64_t ExpertCounts::of_expert(std::int64_t e) const {
  std::int64_t sum = 0;
  for (std::int64_t s = 0; s < senders(); ++s) sum += rows(s, e);
  return sum;
}

std::int64_t ExpertCounts::rows_between(std::int64_t tensor, std::int64_t from, std::int64_t to) const {
  const std::int32_t* const row = counts + (tensor * ep + from) * experts;
  std::int64_t sum = 0;
  for (std::int64_t e = to * local(); e < (to + 1) * local(); ++e) sum += row[e];
  return sum;
}

std::int64_t ExpertCounts::received(std::int64_t tensor) const {
  std::int64_t sum = 0;
  for (std::int64_t from = 0; from < ep; ++from) sum += rows_between(tensor, from, index);
  return sum;
}

std::int64_t ExpertCounts::rows_of(schedule::Extent extent) const {
  if (extent == schedule::Extent::received) return received(tensor_index);
  std::int64_t sum = 0;
  for (std::int64_t t = 0; t < etp; ++t) sum += received(t);
  return sum;
}

ExpertCounts expert_counts(const schedule::Schedule& schedule, std::int64_t rank, const std::int32_t* counts,
                           std::int64_t experts) {
  ExpertCounts table{.counts = counts, .experts = experts};
  const auto set = [&](const char* name, std::int64_t& size, std::int64_t& index) {
    const std::uint8_t at = schedule::find_group(schedule, name);
    if (at == schedule::kNoGroup) return;
    size = schedule.groups[at].size;
    index = schedule.groups[at].index(rank);
  };
  set("expert", table.ep, table.index);
  set("expert_tensor", table.etp, table.tensor_index);
  return table;
}

}  // namespace orrery::runtime
