// The file for Perfetto that `run --trace` and `compare --trace` write. It is opened before anything is
// simulated, so that nobody waits for a file that cannot be written.
#pragma once

#include <fstream>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace orrery::sim {

class PerfettoFile {
 public:
  explicit PerfettoFile(const std::string& path);  // throws WorldError
  void write(const std::function<void(std::ostream&)>& content);

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string path_;
  std::ofstream stream_;
};

// Throws InputError where writing `path`, named by `option`, would overwrite one of the inputs.
void refuse_to_overwrite(const std::string& option, const std::string& path,
                         const std::vector<std::string>& inputs);

}  // namespace orrery::sim
