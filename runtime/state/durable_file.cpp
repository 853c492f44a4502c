#include "runtime/state/durable_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/diagnostics.h"
#include "base/directories.h"

namespace orrery::runtime {
namespace {

constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // below what one call may move

[[noreturn]] void fail(const std::string& path, const char* call) {
  throw WorldError(fmt::format("{}: {}: {}", path, call, std::strerror(errno)));
}

}  // namespace

DurableFile::DurableFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail(path_, "open");
}

DurableFile::~DurableFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void DurableFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path_, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void DurableFile::sync() {
  if (::fdatasync(descriptor_) != 0) fail(path_, "fdatasync");
}

void DurableFile::finish() {
  if (::fsync(descriptor_) != 0) fail(path_, "fsync");
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(path_, "close");
}

void sync_directory(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail(path, "open");
  const int result = ::fsync(descriptor);
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  // Some network file systems have nothing to do here and say EINVAL.
  if (result != 0 && reason != EINVAL) fail(path, "fsync");
}

void make_directories_durably(const std::string& path) {
  std::vector<std::string> above;
  std::error_code error;
  namespace fs = std::filesystem;
  for (fs::path at = fs::path(path).lexically_normal(); !at.empty() && !fs::exists(at, error); at = at.parent_path())
    above.push_back(at.has_parent_path() ? at.parent_path().string() : ".");
  make_directories(path);
  for (const std::string& directory : above) sync_directory(directory);
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe would wait for its writer
  if (descriptor_ < 0) throw InputError(fmt::format("{}: error: cannot be read: {}\n", path_, std::strerror(errno)));
  struct stat info {};
  if (::fstat(descriptor_, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(std::exchange(descriptor_, -1));
    throw InputError(fmt::format("{}: error: is no ordinary file\n", path_));
  }
  size_ = info.st_size;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(std::int64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(descriptor_, into.data(), std::min(into.size(), kMostAtOnce), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(path_, "read");
    if (got == 0)
      throw InputError(fmt::format("{}: error: ends at byte {}, before what it should hold\n", path_, size_));
    into = into.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

}  // namespace orrery::runtime
