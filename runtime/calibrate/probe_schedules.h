// Small schedules, written as text and read as any other, whose steps are performed by the executor to learn
// what a message costs, what the executor adds to an op, and how transfers slow kernels. So they are measured
// exactly as a run meets them: on their lanes, which sleep on the rank's bell.
#pragma once

#include <cstdint>
#include <span>

#include "hardware/transfer_table.h"
#include "schedule/ir.h"

namespace orrery::runtime {

// For each size: the ranks compute for a while, so that they come to the message one after the other and the first falls
// asleep, as in a step; they write what they send (so it is where a kernel leaves its result), and when that has ended,
// the message. `bytes` as hardware/transfer_table.h counts them; multiples of 4 x ranks, or of 4
// for messages of one pair and broadcasts. fp32, sums.
schedule::Schedule message_probe(hardware::TransferOperation operation, std::int64_t ranks,
                                 std::span<const std::int64_t> bytes);

// One rank, `ops` kernels of no size to speak of.
schedule::Schedule overhead_probe(std::int64_t ops);

// `rounds` of a matrix product and an addition that streams from memory, while the ranks add up `bytes` four
// times.
schedule::Schedule interference_probe(std::int64_t ranks, std::int64_t rounds, std::int64_t bytes);

}  // namespace orrery::runtime
