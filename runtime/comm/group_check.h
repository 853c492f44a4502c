// Checks that every World makes of the ranks of a communicator.
#pragma once

#include <string>
#include <vector>

namespace orrery::runtime {

// The index of `rank` among `ranks`. Throws CommError where it is not there, where a rank is there twice, or is not
// below `world_size`.
int index_in_group(const std::vector<int>& ranks, int rank, int world_size, const std::string& name);

}  // namespace orrery::runtime
