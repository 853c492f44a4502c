// Whole jobs to and from a directory of checkpoints, rank after rank, as a runtime does it with all ranks at once.
#pragma once

#include <string>
#include <vector>

#include "runtime/state/load.h"
#include "runtime/state/save.h"
#include "tests/runtime/state/plans.h"

namespace orrery::runtime {

// A directory of its own, removed in the end.
class CheckpointDirectory {
 public:
  CheckpointDirectory();
  ~CheckpointDirectory();
  CheckpointDirectory(const CheckpointDirectory&) = delete;
  CheckpointDirectory& operator=(const CheckpointDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::vector<std::string> names() const;  // of what lies in it, sorted

 private:
  std::string path_;
};

struct SaveOptions {
  std::string run = "run";
  std::int64_t keep = 0;
  std::int64_t piece_bytes = kPieceBytes;
};
Progress progress_at(std::int64_t step);
// The checkpoint's path.
std::string save_job(Job& job, const std::string& directory, std::int64_t step, const SaveOptions& options = {});
// What rank 0 learnt.
Loaded load_job(Job& job, const std::string& path);
// The message of the InputError that loading ends with on some rank; empty when all ranks load.
std::string load_error(Job& job, const std::string& path);

// "" when every rank's state, padding included, is equal byte by byte; else the first difference.
std::string state_difference(Job& a, Job& b);

std::string read_text(const std::string& path);
void write_text(const std::string& path, const std::string& text);
// A manifest whose text was changed, with the checksum line that belongs to it.
std::string with_checksum(const std::string& manifest);

}  // namespace orrery::runtime
