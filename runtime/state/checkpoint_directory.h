// Names in a directory of checkpoints, and which of them count.
//
//     DIR/step-00000012/rank-00000.bin ...      a checkpoint: complete, since the directory got its name last
//     DIR/step-00000012/manifest.json
//     DIR/.step-00000024.partial.RUN            one that is being written, or that nobody finished
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::runtime {

inline constexpr const char* kManifestName = "manifest.json";

std::string rank_file_name(std::int64_t rank);
std::string checkpoint_path(const std::string& directory, std::int64_t step);
std::string partial_path(const std::string& directory, std::int64_t step, const std::string& run);

// Steps of the complete checkpoints, ascending; empty where there is no such directory.
std::vector<std::int64_t> complete_steps(const std::string& directory);

// The checkpoint that `path` means: itself, or the newest complete one in it. Throws InputError where there is none.
std::string find_checkpoint(const std::string& path);

// For a run that is about to save after `step` steps: checkpoints of later steps would be taken for newer ones. Throws
// InputError where there are any.
void refuse_later_checkpoints(const std::string& directory, std::int64_t step);

// Removes what nobody will finish: partial checkpoints of other runs, and this run's up to `step`.
void remove_leftovers(const std::string& directory, std::int64_t step, const std::string& run);

// Removes all but the newest `keep` checkpoints up to `step`; 0 keeps all.
void remove_old(const std::string& directory, std::int64_t step, std::int64_t keep);

}  // namespace orrery::runtime
