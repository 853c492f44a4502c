// How many rows experts get. A run takes what its routers choose; a simulation draws it here, from a distribution of the
// scenario: experts equally popular, or of a popularity that falls as 1 / place^exponent (Zipf) with the places dealt out
// by the seed, or as counts say. A token chooses an expert at most once, so no expert gets more than every token; what is
// beyond goes to the others in proportion. The draw is one for all layers and microbatches: the same rank is the fullest
// everywhere, which is the worst case for memory; for time it makes little difference, since each exchange waits for
// whoever is the fullest there.
#pragma once

#include <cstdint>
#include <vector>

#include "scenarios/scenario.h"
#include "schedule/ir.h"

namespace orrery::schedule {

// Rows that a rank sends in all: its tokens of a microbatch, top_k times.
std::int64_t sent_rows(const scenarios::Scenario& scenario);
// Rows of an expert that one rank sends at most, by the capacity factor; 0: any.
std::int64_t capacity_rows(const scenarios::Scenario& scenario);
// The most that a rank can receive.
std::int64_t reserved_rows(const scenarios::Scenario& scenario);
// What each of `scenario.parallel.ep` ranks receives.
std::vector<std::int64_t> drawn_rows(const scenarios::Scenario& scenario);

// The schedule as it is for ranks that receive `rows`: every extent has that size. Of a schedule without experts, a copy.
Schedule with_rows(const Schedule& schedule, std::int64_t rows);
// For the ranks that receive the most; for ranks that receive the mean, rounded.
Schedule with_most_rows(const Schedule& schedule);
Schedule with_mean_rows(const Schedule& schedule);
// What a rank of this schedule receives: 0 without experts.
std::int64_t drawn_rows_of(const Schedule& schedule, std::int64_t rank);

}  // namespace orrery::schedule
