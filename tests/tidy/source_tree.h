// The files of this repository that the house rules speak of: sources, headers, build files, scripts, data and documents;
// not what is built. Read once, in the order of their paths.
#pragma once

#include <string>
#include <vector>

namespace orrery::tidy {

struct TextFile {
  std::string path;  // from the root, "base/json.h"
  std::string text;
};

std::vector<TextFile> read_tree(const std::string& root);

bool ends_with(const std::string& text, const std::string& end);
bool is_code(const std::string& path);  // a C++ source or header

}  // namespace orrery::tidy
