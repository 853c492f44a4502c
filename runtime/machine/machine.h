// The machine that runs us, as far as it says what it is: /proc, /sys, the cores this process may use. Traces and hardware files
// name it.
#pragma once

#include <cstdint>
#include <string>

namespace orrery::runtime {

struct Machine {
  std::string processor = "unknown processor";  // "AMD EPYC 7B13"
  std::string vendor = "other";                 // "amd", "intel", "other"
  std::string system;                           // "Linux 6.1.0"
  std::string governor;                         // of the clock; empty: not readable (virtual machines)
  std::int64_t cores = 1;                       // that this process may run on (sched_getaffinity)
  double quota_cores = 0.0;                     // of its control group; 0: none
  std::int64_t memory_bytes = 0;                // within the limit of its control group
  std::int64_t l2_bytes = 0, l3_bytes = 0;  // of one core; of those that share it
  // What ranks share: whole cores within the quota, at least 1.
  std::int64_t usable_cores() const;
};

Machine this_machine();

// "AMD EPYC 7B13, 2 cores, 23.4 GiB, Linux 6.1.0, governor performance".
std::string words(const Machine& machine);

// Differs between builds of this program: size and time of its file.
std::uint64_t program_identity();

// Of /proc/cpuinfo: the first value of a field; empty: it has none.
std::string cpuinfo_field(const std::string& text, const std::string& field);
// Cores of cgroup v2's cpu.max ("150000 100000": 1.5); 0: no limit.
double quota_of_cpu_max(const std::string& text);

}  // namespace orrery::runtime
