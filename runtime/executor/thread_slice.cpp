#include "runtime/executor/thread_slice.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace orrery::runtime {
namespace {

constexpr std::uint64_t kSlice_ns = 100'000;  // the least that the kernel grants

// struct sched_attr of linux/sched/types.h, its first version: glibc has it only from 2.41 on.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

}  // namespace

bool ask_for_short_slice() {
  SchedulingAttributes attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return false;
  if (attributes.policy != 0) return false;  // not SCHED_OTHER: somebody has decided already
  attributes.runtime = kSlice_ns;
  attributes.size = sizeof(attributes);
  return ::syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

}  // namespace orrery::runtime
