#include "runtime/state/directory_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "runtime/state/durable_file.h"

namespace orrery::runtime {

DirectoryLock::DirectoryLock(const std::string& path) {
  make_directories_durably(path);
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor_ < 0) throw WorldError(fmt::format("{}: cannot be opened: {}", path, std::strerror(errno)));
  holds_ = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
  if (holds_ || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw WorldError(fmt::format("{}: another run is saving into this directory", path));
}

DirectoryLock::~DirectoryLock() { ::close(descriptor_); }

}  // namespace orrery::runtime
