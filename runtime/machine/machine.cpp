#include "runtime/machine/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/random.h"
#include "runtime/machine/memory.h"

namespace orrery::runtime {
namespace {

// Empty where it cannot be read.
std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string first_line(const std::string& path) {
  const std::string text = content(path);
  return text.substr(0, text.find('\n'));
}

std::int64_t allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max<std::int64_t>(1, ::sysconf(_SC_NPROCESSORS_ONLN));
}

double quota() {
  if (const std::string v2 = first_line("/sys/fs/cgroup/cpu.max"); !v2.empty()) return quota_of_cpu_max(v2);
  const std::string v1 = first_line("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"),
                    period = first_line("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  return v1.empty() || v1.front() == '-' || period.empty() ? 0.0 : quota_of_cpu_max(v1 + " " + period);
}

}  // namespace

std::string cpuinfo_field(const std::string& text, const std::string& field) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(field)) continue;
    if (line.find_first_not_of(" \t", field.size()) != colon) continue;
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

double quota_of_cpu_max(const std::string& text) {
  std::istringstream words(text);
  double allowed = 0.0, period = 0.0;
  return words >> allowed >> period && allowed > 0.0 && period > 0.0 ? allowed / period : 0.0;
}

std::int64_t Machine::usable_cores() const {
  if (quota_cores <= 0.0) return cores;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(quota_cores), 1, cores);
}

Machine this_machine() {
  Machine m;
  const std::string info = content("/proc/cpuinfo");
  if (const std::string model = cpuinfo_field(info, "model name"); !model.empty()) m.processor = model;
  const std::string vendor = cpuinfo_field(info, "vendor_id");
  if (vendor == "AuthenticAMD") m.vendor = "amd";
  if (vendor == "GenuineIntel") m.vendor = "intel";
  utsname name{};
  if (::uname(&name) == 0) m.system = fmt::format("{} {}", name.sysname, name.release);
  m.governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  m.cores = allowed_cores();
  m.quota_cores = quota();
  m.memory_bytes = memory_now().total;
  m.l2_bytes = std::max<std::int64_t>(0, ::sysconf(_SC_LEVEL2_CACHE_SIZE));
  m.l3_bytes = std::max<std::int64_t>(0, ::sysconf(_SC_LEVEL3_CACHE_SIZE));
  return m;
}

std::uint64_t program_identity() {
  struct stat status {};
  if (::stat("/proc/self/exe", &status) != 0) return 0;
  const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
  return mix_bits(mix_bits(word(status.st_size)) ^ mix_bits(word(status.st_mtim.tv_sec)) ^
                  word(status.st_mtim.tv_nsec));
}

std::string words(const Machine& m) {
  std::string text = fmt::format("{}, {} core{}", m.processor, m.cores, m.cores == 1 ? "" : "s");
  if (m.quota_cores > 0.0) text += fmt::format(" (quota {:.2f})", m.quota_cores);
  text += fmt::format(", {:.1f} GiB, {}", static_cast<double>(m.memory_bytes) / (1 << 30), m.system);
  if (!m.governor.empty()) text += ", governor " + m.governor;
  return text;
}

}  // namespace orrery::runtime
