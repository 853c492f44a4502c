// Saving a checkpoint, in three calls:
//
//     every rank   Snapshot s = snapshot(layout, memory);     between two steps; a copy of what the rank owns
//     every rank   save_rank(place, s);                       any thread, while training goes on
//                  ... all ranks have done so ...             the caller's barrier
//     rank 0       commit(place, schedule, layout, progress, keep);
//
// Everything is written under a hidden name and made durable; commit() writes the manifest and gives the directory
// its name with one rename. A process killed anywhere before leaves a hidden directory that no reader looks at and
// the next commit removes; so at most the checkpoint in the making is lost. A complete checkpoint is never replaced: where
// there is one of the same step, commit() refuses.
//
// Cost: snapshot() copies at memory speed; save_rank() writes once, and checksums at about 2 GB/s.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/state/layout.h"
#include "runtime/state/manifest.h"
#include "runtime/state/rank_file.h"
#include "runtime/state/state_memory.h"

namespace orrery::runtime {

// The same on all ranks.
struct SavePlace {
  std::string directory;  // of all checkpoints of the run; made if it is not there
  std::int64_t step = 0;
  std::string run;  // a word (letters, digits, '-') that this run's ranks share and no other run has
};

inline constexpr std::int64_t kPieceBytes = std::int64_t{4} << 20;

struct Snapshot {
  RankFile file;
  std::vector<std::byte> data;
};

// `into` may be an older one of the same layout: its memory is used again.
void snapshot(const StateLayout& layout, StateMemory& memory, Snapshot& into, std::int64_t piece_bytes = kPieceBytes);

// Throws WorldError where it cannot be written. The snapshot's elements stay as they are. `moved`: see write_rank_file().
void save_rank(const SavePlace& place, std::int64_t rank, Snapshot& snapshot, const std::function<void()>& moved = {});

// For a run that is about to save there: what it keeps and removes must be its own. Throws InputError where there is a
// checkpoint of another model. One that cannot be read is nobody's.
void refuse_foreign_checkpoints(const std::string& directory, const models::Architecture& model);

// Of rank 0, after every rank's save_rank. Keeps the newest `keep` checkpoints up to this one (0: all). Throws
// WorldError where a rank's file cannot be read back, or something cannot be written, renamed or removed.
void commit(const SavePlace& place, const schedule::Schedule& schedule, const StateLayout& layout,
            const Progress& progress, std::int64_t keep);

}  // namespace orrery::runtime
