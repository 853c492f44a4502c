// What one side of a call exchanges with one other: first messages, then segments.
//
// Every seat sends every other seat of its meeting a *first message*: its digest, and behind that the data of round 0
// if they are few. Only when the other's has come, and fits, do segments follow, at most 256 KiB each and 2 under way
// in each direction; straight from and to the rank's memory where that is contiguous, else through scratch memory. So a
// misfit is found before anything larger has been sent, and nothing ever arrives in the wrong place; and a send cannot
// end before its receive was begun, as with threads and NCCL. First messages are below the eager limits of Open MPI's
// transports: they leave without the receiver's help.
//
// Segments match by order: MPI does not overtake between two ranks in one communicator and tag.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "runtime/comm/call_check.h"
#include "runtime/comm/flat_cursor.h"
#include "runtime/comm/scratch_pool.h"

namespace orrery::runtime {

inline constexpr std::int64_t kSegmentBytes = 256 << 10;
inline constexpr std::int64_t kDigestBytes = 192;
inline constexpr std::int64_t kInlineBytes = 3584;
inline constexpr std::size_t kWindow = 2;                  // segments under way
inline constexpr std::size_t kRequests = 2 + 2 * kWindow;  // of one peer
static_assert(sizeof(CallDigest) <= kDigestBytes);

struct MpiScratch {
  ScratchPool first{kDigestBytes + kInlineBytes};
  ScratchPool segments{kSegmentBytes};
};

struct MpiRoute {
  MPI_Comm comm = MPI_COMM_NULL;
  int member = 0;  // of the other, in comm
  int tag_out = 0, tag_in = 0;
};

class MpiPeer {
 public:
  MpiPeer(MpiScratch& scratch, std::int64_t element_bytes) : scratch_(&scratch), element_bytes_(element_bytes) {}

  // Posts both first messages, and opens round 0. `requests`: kRequests of them, this peer's own. The elements of `out`
  // and of `in` go inline where they fit.
  void begin(const MpiRoute& route, std::span<MPI_Request> requests, const CallDigest& digest, FlatCursor out,
             FlatCursor in, bool combines);
  // What goes and comes in segments in a later round. The elements of `in` are only counted where they are combined.
  void open_round(FlatCursor out, FlatCursor in, bool combines);
  // When the first message has come and fits: what came inline is unpacked, or, if it is to be combined, stays in
  // inline_data(). Before it, nothing is posted.
  void take_inline();
  // Posts what the window allows.
  void post();
  // Request `index` is complete.
  void complete(std::size_t index);
  void end();  // gives the scratch memory back

  bool came() const { return came_; }
  const CallDigest& digest() const { return digest_; }
  bool takes_inline() const { return takes_inline_; }
  const std::byte* inline_data() const { return first_in_ + kDigestBytes; }
  // Combining: the next segment, if it has come; and that it was used.
  const std::byte* next_segment() const;
  void use_segment();
  bool round_is_over() const;

 private:
  struct Segment {
    std::byte* scratch = nullptr;  // null: straight from or to the rank's memory
    FlatCursor place;
    std::int64_t count = 0;
    bool under_way = false, come = false;
  };

  bool fits_inline(const FlatCursor& cursor) const { return cursor.left() * element_bytes_ <= kInlineBytes; }
  void post_out();
  void post_in();
  void free_segment(Segment& segment);
  std::int64_t next_count(std::int64_t left) const { return std::min(left, kSegmentBytes / element_bytes_); }

  MpiScratch* scratch_;
  std::int64_t element_bytes_;
  MpiRoute route_;
  std::span<MPI_Request> requests_;
  std::byte *first_out_ = nullptr, *first_in_ = nullptr;
  CallDigest digest_;  // the other's
  bool came_ = false, takes_inline_ = false, combines_ = false;
  FlatCursor out_, in_;
  std::array<Segment, kWindow> out_segments_, in_segments_;
  std::size_t posted_out_ = 0, posted_in_ = 0, used_ = 0;  // segments of this round
};

}  // namespace orrery::runtime
