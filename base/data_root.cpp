// Finding the data that ships with Orrery. The source tree is known from the build (ORRERY_SOURCE_DIR); $ORRERY_DATA
// overrides it for an installed program.
#include "base/data_root.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace orrery {

std::string data_root() {
  const char* from_environment = std::getenv("ORRERY_DATA");
  if (from_environment != nullptr && *from_environment != '\0') return from_environment;
  return ORRERY_SOURCE_DIR;
}

std::string find_file(const std::string& named, const SourceFile* from) {
  namespace fs = std::filesystem;
  if (named.empty() || named.find('\0') != std::string::npos) return {};
  const auto exists = [](const fs::path& path) {
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    return fs::exists(status) && !fs::is_directory(status);
  };
  const fs::path path(named);
  if (path.is_absolute()) return exists(path) ? named : std::string{};
  if (from != nullptr) {
    const fs::path beside = (fs::path(from->path).parent_path() / path).lexically_normal();
    if (exists(beside)) return beside.string();
  }
  if (exists(path)) return named;
  const fs::path shipped = (fs::path(data_root()) / path).lexically_normal();
  return exists(shipped) ? shipped.string() : std::string{};
}

}  // namespace orrery
