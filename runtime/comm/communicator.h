// Messages between ranks: what the executor needs of a transport, and all that it knows of one. Two implementations:
// ranks as threads of one process (thread_world.h) and MPI processes (mpi_world.h). NCCL will be the third.
//
// A Transfer is prepared once and started once a step; starting and testing never block, so one lane can drive many.
// Sides meet by number, not by arrival: the k-th collective of a group meets the k-th of the other members, and a
// message meets the k-th from the same sender to the same receiver in its `channel`; the caller counts.
//
// Reduction order is fixed: an element's sum is ((x0 + x1) + x2) + ... over the members in order, in fp32 (fp64 for
// fp64), rounded once to the element's type, whatever the algorithm, the size, the cut into chunks and the timing. So
// sums are bitwise reproducible, and all_reduce equals reduce_scatter followed by all_gather.
//
// A rank may have several threads, but only one at a time makes communicators, prepares, starts, tests or destroys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::runtime {

enum class Element : std::uint8_t { fp32, fp64, bf16, fp16, int32, byte };
std::int64_t bytes_of(Element element);
std::string_view name_of(Element element);

enum class CommKind : std::uint8_t {
  send,
  recv,
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  barrier
};
std::string_view name_of(CommKind kind);
enum class CommReduce : std::uint8_t { sum, max };  // max: a NaN wins
inline constexpr std::uint32_t kChannels = 256;     // of one group, both directions; a schedule's tag is a byte

// A rectangle of elements in memory of this rank. Chunks of it are flat ranges in row-major order.
struct Piece {
  std::byte* data = nullptr;
  std::int64_t rows = 0, columns = 0, stride = 0;  // elements
  std::int64_t count() const { return rows * columns; }
};

// One call. x and y are read and written as docs/schedule.md, section 7, says for each kind; several pieces are one
// coalesced call, matched in order (for each pair x[i], y[i]: one piece of the collective). Pieces may be of no
// elements. Matched pieces have equal counts; their rows and strides may differ. x and y overlap only where
// reduce_scatter's y is the member's own chunk of x, or all_gather's x its own chunk of y (in place).
struct CommCall {
  CommKind kind = CommKind::barrier;
  CommReduce reduce = CommReduce::sum;
  Element element = Element::fp32;
  bool adds = false;          // reduce_scatter: y += instead of y =
  std::int64_t peer = 0;      // send, recv: index in the group
  std::uint32_t channel = 0;  // send, recv: messages of one channel meet in order; below kChannels
  std::vector<Piece> x, y;
  // Counted: all_to_all, all_gather or reduce_scatter of one pair of pieces whose parts differ in size, which only a run
  // knows. Elements that seat `from` brings for seat `to`, asked at each start, when all seats would answer alike; parts lie
  // one behind the other from the beginning of x and y. (all_gather brings all the same; reduce_scatter's parts for one seat
  // are of one size.)
  std::function<std::int64_t(int from, int to)> elements;
  std::uint64_t signature = 0;  // equal on all sides of one meeting, else CommError
  std::string what;             // for messages to people: "all_reduce (layer_backward.7, unit 3, microbatch 0)"
};

struct CommError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Transfer {
 public:
  // While it is under way, this gives it up: the other sides get a CommError, and it returns when none of them touches
  // this side's memory any more. (MPI: the job must then end, see mpi_world.h.)
  virtual ~Transfer() = default;
  // Begins the next use. `sequences[i]`: the number of call i in its group and kind of meeting (see above).
  virtual void start(std::span<const std::uint64_t> sequences) = 0;
  // Does a bounded piece of what can be done now (about a MiB), so that one large transfer does not hold up the others;
  // where it stops early it rings this rank's bell, so that waiting for the bell after `false` is always right. True
  // once this side's part is complete and its memory may be used again, and from then on until the next start.
  // Throws CommError, on all sides, when the sides do not fit together. A transfer that threw can only be destroyed, and
  // its communicator is good for nothing more.
  virtual bool test() = 0;
};

// One rank's end of one group.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int index() const = 0;
  virtual int size() const = 0;
  // Several calls are one group (ncclGroupStart .. End): all are started together and none waits for another.
  // Throws CommError where a call is malformed. The memory must be there from start() until test() is true.
  virtual std::unique_ptr<Transfer> prepare(std::vector<CommCall> calls) = 0;
};

// Blocks a thread until somebody may have something new for it. Counting, so nothing is lost between a look and a wait.
class Bell {
 public:
  virtual ~Bell() = default;
  virtual std::uint64_t heard() const = 0;     // take before looking
  virtual void ring() = 0;                     // after changing something that others look at
  virtual void wait(std::uint64_t heard) = 0;  // returns when rung since; may return early
};

// One rank's end of the job.
class World {
 public:
  virtual ~World() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Every member calls this with the same ranks, and all ranks make their communicators in the same order. The sequence
  // of making may differ between ranks that share no group.
  virtual std::unique_ptr<Communicator> communicator(const std::vector<int>& ranks, const std::string& name) = 0;
  // Rung by the transport when a transfer of this rank may go on, and by the rank's own lanes.
  virtual Bell& bell() = 0;
};

}  // namespace orrery::runtime
