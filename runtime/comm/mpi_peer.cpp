#include "runtime/comm/mpi_peer.h"

#include <algorithm>
#include <cstring>

#include "runtime/comm/mpi_check.h"

namespace orrery::runtime {
namespace {

// Between a cursor and a buffer.
void pack(FlatCursor from, std::int64_t count, std::byte* buffer, std::int64_t element_bytes) {
  const Piece piece{buffer, 1, count, count};
  FlatCursor to(std::span(&piece, 1), {}, element_bytes);
  copy_elements(from, to, count, element_bytes);
}

void unpack(std::byte* buffer, std::int64_t count, FlatCursor to, std::int64_t element_bytes) {
  const Piece piece{buffer, 1, count, count};
  FlatCursor from(std::span(&piece, 1), {}, element_bytes);
  copy_elements(from, to, count, element_bytes);
}

}  // namespace

void MpiPeer::begin(const MpiRoute& route, std::span<MPI_Request> requests, const CallDigest& digest, FlatCursor out,
                    FlatCursor in, bool combines) {
  route_ = route;
  requests_ = requests;
  came_ = false;
  first_out_ = scratch_->first.take();
  first_in_ = scratch_->first.take();
  std::memcpy(first_out_, &digest, sizeof digest);
  std::int64_t bytes = kDigestBytes;
  if (fits_inline(out)) {
    bytes += out.left() * element_bytes_;
    pack(out, out.left(), first_out_ + kDigestBytes, element_bytes_);
    out = {};
  }
  MPI_CHECK(MPI_Irecv(first_in_, kDigestBytes + kInlineBytes, MPI_BYTE, route_.member, route_.tag_in, route_.comm,
                      &requests_[1]));
  MPI_CHECK(MPI_Isend(first_out_, static_cast<int>(bytes), MPI_BYTE, route_.member, route_.tag_out, route_.comm,
                      requests_.data()));
  open_round(out, in, combines);
  takes_inline_ = fits_inline(in);
}

void MpiPeer::open_round(FlatCursor out, FlatCursor in, bool combines) {
  out_ = out;
  in_ = in;
  combines_ = combines;
  takes_inline_ = false;
  posted_out_ = posted_in_ = used_ = 0;
}

void MpiPeer::post() {
  post_out();
  post_in();
}

void MpiPeer::post_out() {
  for (; out_.left() > 0 && !out_segments_[posted_out_ % kWindow].under_way; ++posted_out_) {
    Segment& segment = out_segments_[posted_out_ % kWindow];
    segment.count = next_count(out_.left());
    const FlatCursor::Run run = out_.peek(segment.count);
    const std::byte* data = run.data;
    if (run.count < segment.count) {
      data = segment.scratch = scratch_->segments.take();
      pack(out_, segment.count, segment.scratch, element_bytes_);
    }
    out_.advance(segment.count);
    segment.under_way = true;
    MPI_CHECK(MPI_Isend(data, static_cast<int>(segment.count * element_bytes_), MPI_BYTE, route_.member, route_.tag_out,
                        route_.comm, &requests_[2 + posted_out_ % kWindow]));
  }
}

void MpiPeer::post_in() {
  if (takes_inline_) return;
  for (; in_.left() > 0; ++posted_in_) {
    Segment& segment = in_segments_[posted_in_ % kWindow];
    if (segment.under_way || segment.come) return;
    segment.count = next_count(in_.left());
    segment.place = in_;
    const FlatCursor::Run run = in_.peek(segment.count);
    std::byte* data = run.data;
    if (combines_ || run.count < segment.count) data = segment.scratch = scratch_->segments.take();
    in_.advance(segment.count);
    segment.under_way = true;
    MPI_CHECK(MPI_Irecv(data, static_cast<int>(segment.count * element_bytes_), MPI_BYTE, route_.member, route_.tag_in,
                        route_.comm, &requests_[2 + kWindow + posted_in_ % kWindow]));
  }
}

void MpiPeer::complete(std::size_t index) {
  if (index == 0) return;  // the first message has left; its memory is kept until the end
  if (index == 1) {
    came_ = true;
    std::memcpy(&digest_, first_in_, sizeof digest_);
    return;
  }
  if (index < 2 + kWindow) return free_segment(out_segments_[index - 2]);
  Segment& segment = in_segments_[index - 2 - kWindow];
  segment.under_way = false;
  if (combines_) {
    segment.come = true;
    return;
  }
  if (segment.scratch != nullptr) unpack(segment.scratch, segment.count, segment.place, element_bytes_);
  free_segment(segment);
}

void MpiPeer::free_segment(Segment& segment) {
  if (segment.scratch != nullptr) scratch_->segments.give(segment.scratch);
  segment = {};
}

void MpiPeer::take_inline() {
  if (!takes_inline_) return;
  if (!combines_) unpack(first_in_ + kDigestBytes, in_.left(), in_, element_bytes_);
  in_ = {};
}

const std::byte* MpiPeer::next_segment() const {
  const Segment& segment = in_segments_[used_ % kWindow];
  return segment.come ? segment.scratch : nullptr;
}

void MpiPeer::use_segment() { free_segment(in_segments_[used_++ % kWindow]); }

bool MpiPeer::round_is_over() const {
  const auto idle = [](const Segment& segment) { return !segment.under_way && !segment.come; };
  return came_ && out_.left() == 0 && in_.left() == 0 &&
         std::all_of(out_segments_.begin(), out_segments_.end(), idle) &&
         std::all_of(in_segments_.begin(), in_segments_.end(), idle);
}

void MpiPeer::end() {
  scratch_->first.give(first_out_);
  scratch_->first.give(first_in_);
}

}  // namespace orrery::runtime
