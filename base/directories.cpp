#include "base/directories.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "base/check.h"

namespace orrery {

namespace fs = std::filesystem;

void make_directories(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!error && !fs::is_directory(path, error)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) throw WorldError(fmt::format("{}: cannot be made: {}", path, error.message()));
}

std::vector<fs::path> files_in(const fs::path& directory, const std::string& extension) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == extension) files.push_back(it->path());
  if (error) throw WorldError(fmt::format("{}: cannot be listed: {}", directory.string(), error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace orrery
