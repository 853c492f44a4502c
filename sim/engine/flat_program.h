// One step of a distinct program, unrolled into an array per stream with every "wait for this event"
// resolved.
//
// CUDA semantics: a wait refers to the last record of that event BEFORE it in host issue order. That is known
// without running anything, and since a stream is in order it becomes "stream s has completed n ops". A wait
// with no record before it in the step refers to the last record of the step before; in the first step that
// has not happened, and the wait is void. All ranks of a program share one FlatProgram. Cost: 24 bytes an op,
// plus 12 that only traces read.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/ir.h"
#include "sim/engine/messages.h"
#include "sim/engine/unroll.h"

namespace orrery::sim::engine {

// How an op takes time.
enum class Work : std::uint8_t {
  bound_kernel,  // on the device, bound by its SMs: slowed by communication kernels
  kernel,        // on the device, bound by memory
  copy,
  host_work,  // on the cpu stream
  host_wait,
  message,
};

// In step n, `completed[stream] >= n * length[stream] + target` must hold.
struct Wait {
  std::int32_t target = 0;
  std::uint32_t stream = 0;
};

struct FlatOp {
  std::int32_t host = 0;  // position in host issue order; in a run, that of its last op
  std::uint32_t first_wait = 0;
  std::uint32_t op = 0;    // index into Program::ops
  std::uint32_t slot = 0;  // messages: which of the channel's open meetings (meeting_slots.h)
  std::uint16_t waits = 0;
  std::uint16_t port = kNoPort;
  std::uint16_t run = 1;  // ops that start together here (Op::grouped), this one included
  Work work = Work::kernel;
  std::uint8_t loop_end =
      0;  // 1 + index of the repeat that was cut short whose last run on the stream this is
};

struct FlatOrigin {  // for traces and deadlock reports
  std::uint32_t host = 0, call = 0, microbatch = 0;
};

struct FlatProgram {
  std::array<std::uint32_t, schedule::kStreams> first{}, length{};
  std::vector<FlatOp> ops;          // by stream
  std::vector<FlatOrigin> origins;  // like ops
  std::vector<Wait> waits;
  std::int32_t host_ops = 0;
};

std::vector<FlatProgram> flatten(const schedule::Schedule& schedule, const Messages& messages, const Cut& cut,
                                 std::int64_t skip);

}  // namespace orrery::sim::engine
