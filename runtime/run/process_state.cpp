#include "runtime/run/process_state.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <string>

namespace orrery::runtime {

char process_state(std::int64_t process) {
  errno = 0;
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  if (!file && errno != ENOENT) return '?';
  std::string text;
  if (!std::getline(file, text)) return 'X';
  const std::size_t end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() ? 'X' : text[end + 2];
}

}  // namespace orrery::runtime
