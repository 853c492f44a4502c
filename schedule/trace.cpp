// The fingerprint is FNV-1a (Fowler, Noll, Vo; 64 bits) of the text form, which holds every field of a
// Schedule, through one finalizer. Cost: printing, some milliseconds for the largest schedules.
#include "schedule/trace.h"

#include "base/random.h"
#include "schedule/text.h"

namespace orrery::schedule {

std::uint64_t fingerprint(const Schedule& schedule) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : print(schedule)) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return mix_bits(hash);
}

}  // namespace orrery::schedule
