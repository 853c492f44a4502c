// Who sends how many rows to which expert, as the routers of this microbatch have chosen: the table that all members of the
// expert groups share (docs/schedule.md, section 7), read from the memory of an op's operand `counts`.
#pragma once

#include <cstdint>

#include "schedule/ir.h"

namespace orrery::runtime {

struct ExpertCounts {
  const std::int32_t* counts = nullptr;  // [senders x experts]; sender = tensor index * ep + index
  std::int64_t experts = 0, ep = 1, etp = 1;
  std::int64_t index = 0, tensor_index = 0;  // of this rank

  std::int64_t local() const { return experts / ep; }
  std::int64_t senders() const { return ep * etp; }
  // Of this rank's expert e, from one sender; from all of them.
  std::int64_t rows(std::int64_t sender, std::int64_t e) const { return counts[sender * experts + index * local() + e]; }
  std::int64_t of_expert(std::int64_t e) const;
  // From a sender to all experts of the ranks of index `to`.
  std::int64_t rows_between(std::int64_t tensor, std::int64_t from, std::int64_t to) const;
  std::int64_t received(std::int64_t tensor) const;  // from the senders of that tensor index
  std::int64_t rows_of(schedule::Extent extent) const;
};

// `counts` is the operand's memory, `experts` its columns.
ExpertCounts expert_counts(const schedule::Schedule& schedule, std::int64_t rank, const std::int32_t* counts,
                           std::int64_t experts);

}  // namespace orrery::runtime
