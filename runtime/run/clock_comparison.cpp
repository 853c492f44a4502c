#include "runtime/run/clock_comparison.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/executor/transfers.h"

namespace orrery::runtime {
namespace {

constexpr int kTrips = 100;

CommCall message(CommKind kind, int peer, std::int64_t& value) {
  CommCall call;
  call.kind = kind;
  call.element = Element::byte;
  call.peer = peer;
  const Piece piece{reinterpret_cast<std::byte*>(&value), 1, sizeof value, sizeof value};
  (kind == CommKind::send ? call.x : call.y).push_back(piece);
  call.what = "comparison of clocks";
  return call;
}

}  // namespace

ClockComparison::ClockComparison(World& world, std::vector<int> others, std::function<std::int64_t()> clock)
    : world_(world), others_(std::move(others)), clock_(std::move(clock)) {
  if (!others_.empty()) communicator_ = communicator_of_all(world, "clocks");
}

std::vector<ClockReading> ClockComparison::compare() {
  std::vector<ClockReading> readings;
  if (world_.rank() == 0)
    for (const int other : others_) readings.push_back(ask(other));
  else if (std::find(others_.begin(), others_.end(), world_.rank()) != others_.end())
    answer();
  return readings;
}

void ClockComparison::transfer(CommCall call) {
  std::vector<CommCall> calls;
  calls.push_back(std::move(call));
  const auto transfer = communicator_->prepare(std::move(calls));
  const std::uint64_t sequence[] = {round_};
  transfer->start(sequence);
  for (;;) {
    const std::uint64_t heard = world_.bell().heard();
    if (transfer->test()) return;
    world_.bell().wait(heard);
  }
}

void ClockComparison::answer() {
  for (int trip = 0; trip < kTrips; ++trip, ++round_) {
    std::int64_t value = 0;
    transfer(message(CommKind::recv, 0, value));
    value = clock_();
    transfer(message(CommKind::send, 0, value));
  }
}

ClockReading ClockComparison::ask(int other) {
  ClockReading best;
  const std::uint64_t first = round_;
  for (int trip = 0; trip < kTrips; ++trip, ++round_) {
    std::int64_t theirs = 0;
    const std::int64_t sent = clock_();
    transfer(message(CommKind::send, other, theirs));
    transfer(message(CommKind::recv, other, theirs));
    const std::int64_t returned = clock_(), half = (returned - sent + 1) / 2;
    if (trip == 0 || half < best.uncertainty) best = {sent + half, theirs - (sent + half), half};
  }
  if (other != others_.back()) round_ = first;  // each of the others counts its own
  return best;
}

std::int64_t on_rank_0(std::int64_t theirs, const ClockReading& start, const ClockReading& end) {
  if (end.at == start.at) return theirs - start.ahead;
  const double passed = static_cast<double>(theirs - start.ahead - start.at) / static_cast<double>(end.at - start.at);
  return theirs - start.ahead - std::llround(passed * static_cast<double>(end.ahead - start.ahead));
}

}  // namespace orrery::runtime
