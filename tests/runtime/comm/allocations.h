// Counts what the whole program allocates with new. A file of its own, since GCC takes an inlined replacement of new
// and delete for a mistake.
#pragma once

#include <cstdint>

namespace orrery::runtime::test {

std::int64_t allocations();  // so far, of all threads

}  // namespace orrery::runtime::test
