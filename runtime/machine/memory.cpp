#include "runtime/machine/memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace orrery::runtime {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::int64_t number(const std::string& text) {
  std::istringstream words(text);
  std::int64_t value = 0;
  return words >> value ? value : 0;
}

// "inactive_file 12345"
std::int64_t stat_bytes(const std::string& text, const std::string& field) {
  std::istringstream words(text);
  std::int64_t value = 0;
  for (std::string name; words >> name >> value;)
    if (name == field) return value;
  return 0;
}

MemoryNow of_machine() {
  const std::string info = content("/proc/meminfo");
  MemoryNow memory{meminfo_bytes(info, "MemTotal"), meminfo_bytes(info, "MemAvailable")};
  if (memory.total == 0) memory.total = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  if (memory.available == 0) memory.available = memory.total;
  return memory;
}

}  // namespace

std::int64_t meminfo_bytes(const std::string& text, const std::string& field) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(field + ":")) return 1024 * number(line.substr(field.size() + 1));
  return 0;
}

std::string own_control_group(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("0::")) return line == "0::/" ? "" : line.substr(3);
  return "";
}

MemoryNow within_limit(MemoryNow memory, const std::string& max, const std::string& current, const std::string& stat) {
  const std::int64_t limit = number(max);
  if (limit <= 0) return memory;
  const std::int64_t kept = number(current) - stat_bytes(stat, "inactive_file");
  return {std::min(memory.total, limit), std::clamp<std::int64_t>(limit - kept, 0, memory.available)};
}

std::string gibibytes(std::int64_t bytes) { return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30)); }

std::string refused_memory(std::int64_t bytes, const std::string& reason) {
  const MemoryNow memory = memory_now();
  return fmt::format("{} of memory were refused: {}; {} of this machine's {} are free\n  hint: {}", gibibytes(bytes), reason,
                     gibibytes(memory.available), gibibytes(memory.total), kMemoryHint);
}

MemoryNow memory_now() {
  MemoryNow memory = of_machine();
  std::string group = own_control_group(content("/proc/self/cgroup"));
  for (;;) {  // the group and all that it is in
    const std::string at = "/sys/fs/cgroup" + group + "/memory.";
    memory = within_limit(memory, content(at + "max"), content(at + "current"), content(at + "stat"));
    const std::size_t parent = group.rfind('/');
    if (parent == std::string::npos) break;
    group.resize(parent);
  }
  const std::string v1 = "/sys/fs/cgroup/memory/memory.";
  return within_limit(memory, content(v1 + "limit_in_bytes"), content(v1 + "usage_in_bytes"), content(v1 + "stat"));
}

}  // namespace orrery::runtime
