#include "runtime/comm/group_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "runtime/comm/communicator.h"

namespace orrery::runtime {

int index_in_group(const std::vector<int>& ranks, int rank, int world_size, const std::string& name) {
  std::set<int> seen;
  for (const int member : ranks) {
    if (member < 0 || member >= world_size)
      throw CommError(fmt::format("communicator {}: rank {} is not in a world of {}", name, member, world_size));
    if (!seen.insert(member).second)
      throw CommError(fmt::format("communicator {}: rank {} is there twice", name, member));
  }
  const auto place = std::find(ranks.begin(), ranks.end(), rank);
  if (place == ranks.end())
    throw CommError(fmt::format("communicator {}: rank {} makes it without being in it", name, rank));
  return static_cast<int>(place - ranks.begin());
}

}  // namespace orrery::runtime
