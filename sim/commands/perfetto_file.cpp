#include "sim/commands/perfetto_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/diagnostics.h"

namespace orrery::sim {

PerfettoFile::PerfettoFile(const std::string& path) : path_(path), stream_(path, std::ios::binary) {
  if (!stream_) fail("cannot be opened for writing");
}

void PerfettoFile::write(const std::function<void(std::ostream&)>& content) {
  content(stream_);
  stream_.close();
  if (!stream_) fail("writing it failed");
}

void PerfettoFile::fail(const char* what) const {
  throw WorldError(fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
}

void refuse_to_overwrite(const std::string& option, const std::string& path,
                         const std::vector<std::string>& inputs) {
  std::error_code missing;  // a file that does not exist yet is nobody's input
  for (const std::string& input : inputs)
    if (!path.empty() && std::filesystem::equivalent(path, input, missing))
      throw InputError(
          fmt::format("error: {} {} would overwrite {}\n  hint: name another file\n", option, path, input));
}

}  // namespace orrery::sim
