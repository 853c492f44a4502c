#include "runtime/comm/rounds.h"

namespace orrery::runtime {

int Plan::rounds() const {
  if (kind == CommKind::barrier) return 0;
  return kind == CommKind::all_reduce && !whole ? 2 : 1;
}

bool Plan::reduces(int round) const {
  return round == 0 && (kind == CommKind::all_reduce || kind == CommKind::reduce_scatter);
}

bool Plan::takes(int round, int to, int from) const {
  if (round >= rounds()) return false;
  switch (kind) {
    case CommKind::send:
    case CommKind::recv:
      return from == 0 && to == 1;
    case CommKind::broadcast:
      return from == 0 && to != 0;
    case CommKind::all_reduce:
      return round == 0 || from != to;
    case CommKind::reduce_scatter:
    case CommKind::all_gather:
    case CommKind::all_to_all:
      return true;
    case CommKind::barrier:
      return false;
  }
  return false;
}

bool Plan::takes_anything(int round, int to) const {
  for (int from = 0; from < seats; ++from)
    if (takes(round, to, from)) return true;
  return false;
}

bool Plan::gives_anything(int round, int from) const {
  for (int to = 0; to < seats; ++to)
    if (takes(round, to, from)) return true;
  return false;
}

Chunk Plan::source(int round, int to, int from) const {
  switch (kind) {
    case CommKind::all_to_all:
    case CommKind::reduce_scatter:
      return {to, seats};
    case CommKind::all_reduce:
      return whole ? Chunk{} : Chunk{round == 0 ? to : from, seats};
    case CommKind::send:
    case CommKind::recv:
    case CommKind::broadcast:
    case CommKind::all_gather:
    case CommKind::barrier:
      return {};
  }
  return {};
}

Chunk Plan::target(int round, int to, int from) const {
  switch (kind) {
    case CommKind::all_to_all:
    case CommKind::all_gather:
      return {from, seats};
    case CommKind::all_reduce:
      return whole ? Chunk{} : Chunk{round == 0 ? to : from, seats};
    case CommKind::send:
    case CommKind::recv:
    case CommKind::broadcast:
    case CommKind::reduce_scatter:
    case CommKind::barrier:
      return {};
  }
  return {};
}

Chunk counted_source(const CommCall& call, int to, int from) {
  Chunk chunk{.first = 0, .count = call.elements(from, to)};
  for (int k = 0; call.kind != CommKind::all_gather && k < to; ++k) chunk.first += call.elements(from, k);
  return chunk;
}

Chunk counted_target(const CommCall& call, int to, int from) {
  Chunk chunk{.first = 0, .count = call.elements(from, to)};
  for (int k = 0; call.kind != CommKind::reduce_scatter && k < from; ++k) chunk.first += call.elements(k, to);
  return chunk;
}

const std::vector<Piece>& sources_of(const CommCall& call) {
  return call.kind == CommKind::all_reduce || call.kind == CommKind::broadcast ? call.y : call.x;
}

const std::vector<Piece>& targets_of(const CommCall& call) { return call.y; }

}  // namespace orrery::runtime
