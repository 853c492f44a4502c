#include "runtime/comm/mpi_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/check.h"
#include "runtime/comm/mpi_check.h"

namespace orrery::runtime {
namespace {

bool is_message(CommKind kind) { return kind == CommKind::send || kind == CommKind::recv; }

// Tags tell apart the meetings that may be under way between two ranks of a group: collectives, and messages by channel
// and by who speaks, sender or receiver; within each, the number of the meeting, modulo what the tag's limit leaves
// (63 at the least limit that MPI allows, 32767; far more than steps can be under way). The digest holds the number in full.
int tag_of(const CommCall& call, std::uint64_t sequence, bool receiver_speaks, int tag_limit) {
  constexpr std::uint64_t kSlots = 1 + 2 * kChannels;
  const std::uint64_t window = (static_cast<std::uint64_t>(tag_limit) + 1) / kSlots;
  const std::uint64_t slot = is_message(call.kind) ? 1 + 2 * call.channel + (receiver_speaks ? 1 : 0) : 0;
  return static_cast<int>(slot * window + sequence % window);
}

}  // namespace

MpiSide::MpiSide(CommCall call, MPI_Comm comm, std::vector<int> members, int rank, int seat, int tag_limit,
                 MpiScratch& scratch)
    : call_(std::move(call)),
      plan_{call_.kind, static_cast<int>(members.size())},
      comm_(comm),
      members_(std::move(members)),
      seat_(seat),
      tag_limit_(tag_limit),
      digest_(digest_of(call_, rank, 0)),
      element_bytes_(bytes_of(call_.element)),
      peers_(members_.size(), MpiPeer(scratch, element_bytes_)),
      requests_(members_.size() * kRequests, MPI_REQUEST_NULL),
      indices_(requests_.size()),
      statuses_(requests_.size()),
      pieces_(members_.size()),
      sources_(members_.size()) {
  plan_.whole = call_.kind == CommKind::all_reduce && digest_.elements * element_bytes_ <= kInlineBytes;
}

template <typename F>
void MpiSide::for_peers(F&& f) {
  // Beginning with the next seat, so that not all send to the same one.
  for (int i = 1; i < plan_.seats; ++i) {
    const int seat = (seat_ + i) % plan_.seats;
    f(seat, peers_[static_cast<std::size_t>(seat)]);
  }
}

FlatCursor MpiSide::source(int round, int to, int from) const {
  if (!plan_.takes(round, to, from)) return {};
  return {sources_of(call_), call_.elements ? counted_source(call_, to, from) : plan_.source(round, to, from), element_bytes_};
}

FlatCursor MpiSide::target(int round, int to, int from) const {
  if (!plan_.takes(round, to, from)) return {};
  return {targets_of(call_), call_.elements ? counted_target(call_, to, from) : plan_.target(round, to, from), element_bytes_};
}

void MpiSide::start(std::uint64_t sequence) {
  CHECK(!active_, call_.what, sequence);
  active_ = true;
  round_ = 0;
  digest_.sequence = sequence;
  for_peers([&](int seat, MpiPeer& peer) {
    const auto place = static_cast<std::size_t>(seat);
    const MpiRoute route{comm_, members_[place], tag_of(call_, sequence, seat_ == 1, tag_limit_),
                         tag_of(call_, sequence, seat == 1, tag_limit_)};
    peer.begin(route, std::span(requests_).subspan(place * kRequests, kRequests), digest_, source(0, seat, seat_),
               target(0, seat_, seat), plan_.reduces(0));
  });
  open_round();
}

// The own part of it; the peers' follows from begin() or below.
void MpiSide::open_round() {
  took_own_ = false;
  own_ = source(round_, seat_, seat_);
  sum_ = target(round_, seat_, seat_);
  if (round_ == 0) return;
  for_peers([&](int seat, MpiPeer& peer) {
    peer.open_round(source(round_, seat, seat_), target(round_, seat_, seat), plan_.reduces(round_));
  });
}

bool MpiSide::advance(bool& moved) {
  if (!active_) return true;
  moved = collect() || moved;
  for (; round_ < plan_.rounds(); ++round_, open_round())
    if (!perform_round()) return false;
  bool all_left = true;
  for_peers([&](int, MpiPeer& peer) { all_left = all_left && peer.came(); });
  for (std::size_t i = 0; i < requests_.size(); i += kRequests) all_left = all_left && requests_[i] == MPI_REQUEST_NULL;
  if (!all_left) return false;
  for_peers([](int, MpiPeer& peer) { peer.end(); });
  active_ = false;
  return true;
}

bool MpiSide::collect() {
  int count = 0;
  const int code =
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, indices_.data(), statuses_.data());
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) mpi_failed("MPI_Testsome", code);
  if (count == MPI_UNDEFINED) return false;
  for (int i = 0; i < count; ++i) {
    const auto index = static_cast<std::size_t>(indices_[static_cast<std::size_t>(i)]);
    if (code == MPI_ERR_IN_STATUS)
      if (const int error = statuses_[static_cast<std::size_t>(i)].MPI_ERROR; error != MPI_SUCCESS)
        mpi_failed("MPI_Testsome", error);
    MpiPeer& peer = peers_[index / kRequests];
    peer.complete(index % kRequests);
    if (index % kRequests == 1) check(static_cast<int>(index / kRequests));
  }
  return count > 0;
}

void MpiSide::check(int seat) {
  MpiPeer& peer = peers_[static_cast<std::size_t>(seat)];
  const std::string error = seat < seat_ ? misfit(peer.digest(), digest_) : misfit(digest_, peer.digest());
  if (!error.empty()) throw CommError(error);
  peer.take_inline();
}

bool MpiSide::perform_round() {
  bool all_came = true;
  for_peers([&](int, MpiPeer& peer) {
    if (peer.came()) peer.post();
    all_came = all_came && peer.came();
  });
  if (!all_came) return false;
  if (!took_own_ && !plan_.reduces(round_)) take_own();
  while (plan_.reduces(round_) && combine_segment()) for_peers([](int, MpiPeer& peer) { peer.post(); });
  bool over = sum_.left() == 0;
  for_peers([&](int, MpiPeer& peer) { over = over && peer.round_is_over(); });
  return over;
}

void MpiSide::take_own() {
  copy_elements(own_, sum_, sum_.left(), element_bytes_);
  took_own_ = true;
}

// Combines the next elements, where they have come from everybody.
bool MpiSide::combine_segment() {
  if (sum_.left() == 0) return false;
  const bool in_line = plan_.seats > 1 && peers_[seat_ == 0 ? 1 : 0].takes_inline();
  const bool whole = in_line || plan_.seats == 1;
  const std::int64_t count = whole ? sum_.left() : std::min(sum_.left(), kSegmentBytes / element_bytes_);
  bool all_came = true;
  for_peers([&](int seat, MpiPeer& peer) {
    const std::byte* const data = in_line ? peer.inline_data() : peer.next_segment();
    all_came = all_came && data != nullptr;
    Piece& piece = pieces_[static_cast<std::size_t>(seat)];
    piece = {const_cast<std::byte*>(data), 1, count, count};
    sources_[static_cast<std::size_t>(seat)] = FlatCursor(std::span(&piece, 1), {}, element_bytes_);
  });
  if (!all_came) return false;
  sources_[static_cast<std::size_t>(seat_)] = own_;
  reduce_elements({call_.element, call_.reduce, call_.adds}, sources_, sum_, count);
  own_ = sources_[static_cast<std::size_t>(seat_)];
  if (!in_line) for_peers([](int, MpiPeer& peer) { peer.use_segment(); });
  return true;
}

bool MpiSide::give_up() {
  if (!active_) return true;
  active_ = false;
  bool all = true;
  // Another process may be slow to be scheduled, and a cancelled request is not over before MPI has looked at it.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    MPI_Request& request = requests_[i];
    const std::size_t kind = i % kRequests;
    if (kind == 1 || kind >= 2 + kWindow) {
      if (request == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&request);
    }
    int done = 0;
    while (done == 0) {
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
      if (done == 0 && std::chrono::steady_clock::now() > patience) break;
      if (done == 0) std::this_thread::yield();
    }
    all = all && done != 0;
  }
  return all;
}

}  // namespace orrery::runtime
