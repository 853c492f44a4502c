// A directory of checkpoints belongs to one run at a time: two would rename and remove each other's. The lock is on the
// directory itself (flock(2)), so nothing is left behind however the process ends. Some network file systems lock no
// directories; there it holds nothing.
#pragma once

#include <string>

namespace orrery::runtime {

class DirectoryLock {
 public:
  // Makes the directory where it is not there. Throws WorldError where another process has it, or it cannot be made.
  explicit DirectoryLock(const std::string& path);
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;
  bool holds() const { return holds_; }

 private:
  int descriptor_ = -1;
  bool holds_ = false;
};

}  // namespace orrery::runtime
