// Directories that the user names, and that may be missing, unreadable or not to be made: a WorldError says which and
// why. The exceptions of std::filesystem would reach main as failures of ours, so nothing calls what throws them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace orrery {

// With those above it; one that is there is left as it is. Throws WorldError.
void make_directories(const std::string& path);

// The files of the directory whose names end in `extension` (".json"), sorted; links are followed. Throws WorldError
// where it is no directory that can be read.
std::vector<std::filesystem::path> files_in(const std::filesystem::path& directory, const std::string& extension);

}  // namespace orrery
