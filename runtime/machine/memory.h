// How much memory this process may use: what the machine has and what is free of it, within the limits of the control groups
// that the process is in (a container's, a job's). The kernel kills who goes beyond them, without a word.
#pragma once

#include <cstdint>
#include <string>

namespace orrery::runtime {

struct MemoryNow {
  std::int64_t total = 0;      // bytes
  std::int64_t available = 0;  // without swapping; what the page cache holds counts as free
};
MemoryNow memory_now();

// Of /proc/meminfo, in bytes; 0: it has no such field.
std::int64_t meminfo_bytes(const std::string& text, const std::string& field);

// The control group of version 2 in /proc/self/cgroup ("0::/a/b": "/a/b"); empty: the root, or there is none.
std::string own_control_group(const std::string& text);

// A limit, and what is used of it: memory.max, memory.current and memory.stat, whose inactive files can be dropped.
// Limits nothing where memory.max is "max" or empty.
MemoryNow within_limit(MemoryNow memory, const std::string& max, const std::string& current, const std::string& stat);

// What to do about too little memory.
inline constexpr const char* kMemoryHint =
    "scenarios/cpu holds small scenarios; a smaller training.micro_batch, training.recompute=full or a smaller model needs less";

// The message where the system refused so many bytes, with its reason.
std::string refused_memory(std::int64_t bytes, const std::string& reason);

std::string gibibytes(std::int64_t bytes);  // "23.4 GiB"

}  // namespace orrery::runtime
