#include "runtime/run/output_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/check.h"
#include "base/diagnostics.h"
#include "base/directories.h"

namespace orrery::runtime {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& option, const std::string& path, const std::string& why) {
  throw WorldError(fmt::format("{} {}: cannot be written: {}", option, path, why));
}

// By doing it: permissions alone say nothing of a disk that is mounted for reading.
void try_a_file(const std::string& option, const std::string& path, const std::string& trial) {
  const int file = ::open(trial.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) fail(option, path, std::strerror(errno));
  ::close(file);
  std::remove(trial.c_str());
}

}  // namespace

void require_writable_file(const std::string& option, const std::string& path, const std::vector<std::string>& inputs) {
  std::error_code unknown;  // what is not there is nobody's input
  for (const std::string& input : inputs)
    if (fs::equivalent(path, input, unknown))
      throw InputError(fmt::format("error: {} {} would overwrite {}\n  hint: name another file\n", option, path, input));
  if (fs::is_directory(path, unknown)) fail(option, path, "is a directory");
  if (fs::exists(path, unknown) && !fs::is_regular_file(path, unknown)) return;  // a pipe, /dev/null: written in place
  const std::string target = fs::exists(path, unknown) ? fs::canonical(path, unknown).string() : path;
  try_a_file(option, path, fmt::format("{}.{}.trial", target, ::getpid()));
}

void require_writable_directory(const std::string& option, const std::string& path) {
  try {
    make_directories(path);
  } catch (const WorldError& error) {
    throw WorldError(fmt::format("{} {}: {}", option, path, error.what()));
  }
  try_a_file(option, path, fmt::format("{}/.{}.trial", path, ::getpid()));
}

}  // namespace orrery::runtime
