// One call of a transfer between processes: the rounds of rounds.h, performed by messages with every other seat
// (mpi_peer.h). Chunks are exchanged directly, each with everybody, and combined in the order of the members, segment
// by segment as they come: so the sums are bitwise those of ranks in threads, scratch memory is bounded (2 x 256 KiB a
// peer) and combining overlaps transfer. Round 1 of an all_reduce begins when all that was sent in round 0 has left and
// everything has been combined, since it overwrites that memory.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "runtime/comm/mpi_peer.h"
#include "runtime/comm/reduction.h"
#include "runtime/comm/rounds.h"

namespace orrery::runtime {

class MpiSide {
 public:
  // By seat: the members' index in comm. `rank`: ours.
  MpiSide(CommCall call, MPI_Comm comm, std::vector<int> members, int rank, int seat, int tag_limit, MpiScratch& scratch);

  void start(std::uint64_t sequence);
  // True when over. `moved`: set where something happened.
  bool advance(bool& moved);
  // Ends it unfinished. False where MPI may still touch memory, and must be ended, too.
  bool give_up();

 private:
  template <typename F>
  void for_peers(F&& f);
  FlatCursor source(int round, int to, int from) const;
  FlatCursor target(int round, int to, int from) const;
  void open_round();
  bool collect();  // what has completed; true where something has
  void check(int seat);
  bool perform_round();
  void take_own();
  bool combine_segment();

  CommCall call_;
  Plan plan_;
  MPI_Comm comm_;
  std::vector<int> members_;
  int seat_, tag_limit_;
  CallDigest digest_;
  std::int64_t element_bytes_;
  std::vector<MpiPeer> peers_;         // by seat; the own one is not used
  std::vector<MPI_Request> requests_;  // kRequests of each
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;

  bool active_ = false, took_own_ = false;
  int round_ = 0;
  FlatCursor own_, sum_;  // combining: the own elements, and where the result goes
  std::vector<Piece> pieces_;
  std::vector<FlatCursor> sources_;
};

}  // namespace orrery::runtime
