// Whether what a run is to leave behind can be written, before its first step: an hour of training should not end in
// "no such directory". Messages name the path as the user wrote it.
#pragma once

#include <string>
#include <vector>

namespace orrery::runtime {

// Throws WorldError where the file cannot be written, InputError where it would overwrite one of the run's inputs. Leaves
// nothing behind, and an old file as it is.
void require_writable_file(const std::string& option, const std::string& path, const std::vector<std::string>& inputs);

// Makes the directory, with those above it. Throws WorldError where that fails or no file can be made in it.
void require_writable_directory(const std::string& option, const std::string& path);

}  // namespace orrery::runtime
