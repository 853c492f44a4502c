#include "runtime/comm/call_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace orrery::runtime {
namespace {

bool is_message(CommKind kind) { return kind == CommKind::send || kind == CommKind::recv; }
bool combines(CommKind kind) { return kind == CommKind::all_reduce || kind == CommKind::reduce_scatter; }
bool has_x(CommKind kind) {
  return kind == CommKind::send || kind == CommKind::reduce_scatter || kind == CommKind::all_gather ||
         kind == CommKind::all_to_all;
}
bool has_y(CommKind kind) { return kind != CommKind::send && kind != CommKind::barrier; }

// The counts of a pair's x and y that fit in a group of that size.
bool pair_fits(CommKind kind, std::int64_t x, std::int64_t y, std::int64_t size) {
  if (kind == CommKind::reduce_scatter) return x == y * size;
  if (kind == CommKind::all_gather) return y == x * size;
  return x == y && x % size == 0;  // all_to_all
}

std::string wrong_piece(const Piece& piece, Element element) {
  if (piece.rows < 0 || piece.columns < 0) return fmt::format("a piece is {} x {}", piece.rows, piece.columns);
  if (piece.count() == 0) return {};
  if (piece.data == nullptr) return "a piece has no memory";
  if (piece.rows > 1 && piece.stride < piece.columns)
    return fmt::format("a piece has rows of {} elements with a stride of {}", piece.columns, piece.stride);
  if (reinterpret_cast<std::uintptr_t>(piece.data) % static_cast<std::uintptr_t>(bytes_of(element)) != 0)
    return fmt::format("a piece of {} is not aligned", name_of(element));
  return {};
}

std::string wrong_pieces(const CommCall& call, int size) {
  for (const std::vector<Piece>* pieces : {&call.x, &call.y})
    for (const Piece& piece : *pieces)
      if (std::string wrong = wrong_piece(piece, call.element); !wrong.empty()) return wrong;
  if (call.x.empty() == has_x(call.kind)) return has_x(call.kind) ? "there is no x" : "there is an x";
  if (call.y.empty() == has_y(call.kind)) return has_y(call.kind) ? "there is no y" : "there is a y";
  if (!has_x(call.kind) || !has_y(call.kind)) return {};
  if (call.x.size() != call.y.size()) return fmt::format("{} x and {} y make no pairs", call.x.size(), call.y.size());
  if (call.elements) return call.x.size() == 1 ? std::string() : std::string("a counted call has one x and one y");
  for (std::size_t p = 0; p < call.x.size(); ++p)
    if (!pair_fits(call.kind, call.x[p].count(), call.y[p].count(), size))
      return fmt::format("x of {} and y of {} elements do not fit in a group of {}", call.x[p].count(),
                         call.y[p].count(), size);
  return {};
}

std::string wrong_call(const CommCall& call, int size) {
  if (is_message(call.kind) && (call.peer < 0 || call.peer >= size))
    return fmt::format("peer {} is not in a group of {}", call.peer, size);
  if (is_message(call.kind) && call.channel >= kChannels)
    return fmt::format("channel {} is not below {}", call.channel, kChannels);
  if (call.adds && call.kind != CommKind::reduce_scatter) return "only reduce_scatter can add to its y";
  return wrong_pieces(call, size);
}

// FNV-1a over the counts.
std::uint64_t hash_of_counts(const std::vector<Piece>& pieces) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const Piece& piece : pieces) hash = (hash ^ static_cast<std::uint64_t>(piece.count())) * 0x100000001b3U;
  return hash;
}

std::string first_difference(const CallDigest& one, const CallDigest& other) {
  if (one.kind != other.kind) return fmt::format("{} against {}", name_of(one.kind), name_of(other.kind));
  if (one.sequence != other.sequence) return fmt::format("number {} against {}", one.sequence, other.sequence);
  if (one.element != other.element) return fmt::format("{} against {}", name_of(one.element), name_of(other.element));
  if (one.elements != other.elements) return fmt::format("{} against {} elements", one.elements, other.elements);
  if (one.counts != other.counts) return "the pieces have other sizes";
  if (one.reduce != other.reduce) return "sum against max";
  if (one.signature != other.signature)
    return fmt::format("signature {:x} against {:x}", one.signature, other.signature);
  return {};
}

}  // namespace

void check_call(const CommCall& call, int size) {
  if (const std::string wrong = wrong_call(call, size); !wrong.empty())
    throw CommError(fmt::format("{}, a {}: {}", call.what, name_of(call.kind), wrong));
}

CallDigest digest_of(const CommCall& call, int rank, std::uint64_t sequence) {
  const std::vector<Piece>& pieces = has_x(call.kind) ? call.x : call.y;
  CallDigest digest;
  digest.sequence = sequence;
  digest.signature = call.signature;
  for (const Piece& piece : pieces) digest.elements += piece.count();
  digest.counts = hash_of_counts(pieces);
  digest.rank = rank;
  digest.kind = is_message(call.kind) ? CommKind::send : call.kind;
  digest.reduce = combines(call.kind) ? call.reduce : CommReduce::sum;
  digest.element = call.kind == CommKind::barrier ? Element::byte : call.element;
  std::copy_n(call.what.begin(), std::min(call.what.size(), digest.what.size() - 1), digest.what.begin());
  return digest;
}

std::string misfit(const CallDigest& one, const CallDigest& other) {
  const std::string difference = first_difference(one, other);
  if (difference.empty()) return {};
  return fmt::format("{} on rank {} does not fit {} on rank {}: {}", one.what.data(), one.rank, other.what.data(),
                     other.rank, difference);
}

}  // namespace orrery::runtime
