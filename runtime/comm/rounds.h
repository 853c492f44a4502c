// What moves in each kind of call, as a table that every transport performs in its own way. A call is 0, 1 or 2 rounds;
// in a round, seat `to` takes a part of seat `from`, either as it is or combined with what it takes from the others.
// Round 1 begins, on a seat, when all of its round 0 is over.
//
// Seats: the members of a collective, or the sender (0) and the receiver (1) of a message.
//
//   send, recv        x of 0            ->  y of 1
//   all_gather        x                 ->  chunk `from` of y
//   all_to_all        chunk `to` of x   ->  chunk `from` of y
//   broadcast         y of 0            ->  y of the others
//   reduce_scatter    chunk `to` of x   =>  y
//   all_reduce        chunk `to` of y   =>  chunk `to` of y;  then chunk `from` of y -> chunk `from` of y
//   barrier           nothing: over when all have come
//
// (-> copies, => combines.) In all_reduce, a seat overwrites only its own chunk in round 0, and nobody else reads that
// chunk there; so it works in place, with no second buffer. Per rank it moves 2 (n-1)/n of the bytes, as a ring does
// (Patarasuk, Yuan 2009), in 2 steps instead of 2 (n-1), since any member can reach any other directly.
//
// A small all_reduce is one round: every seat takes the whole y of all, and combines it itself. More bytes, but one
// meeting instead of two; the transport must keep what is read apart from what is written.
#pragma once

#include "runtime/comm/communicator.h"
#include "runtime/comm/flat_cursor.h"

namespace orrery::runtime {

inline constexpr int kMaxRounds = 2;

struct Plan {
  CommKind kind = CommKind::barrier;
  int seats = 1;
  bool whole = false;  // the small all_reduce

  int rounds() const;
  bool reduces(int round) const;  // => rather than ->
  bool takes(int round, int to, int from) const;
  bool takes_anything(int round, int to) const;  // from whomever
  bool gives_anything(int round, int from) const;
  Chunk source(int round, int to, int from) const;
  Chunk target(int round, int to, int from) const;
};

// Of a counted call (CommCall::elements): the parts lie one behind the other.
Chunk counted_source(const CommCall& call, int to, int from);
Chunk counted_target(const CommCall& call, int to, int from);

// The pieces that are read by others, and those that are written.
const std::vector<Piece>& sources_of(const CommCall& call);
const std::vector<Piece>& targets_of(const CommCall& call);

}  // namespace orrery::runtime
