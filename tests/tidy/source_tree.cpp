#include "tests/tidy/source_tree.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace orrery::tidy {
namespace fs = std::filesystem;
namespace {

constexpr std::array kTextEndings{".h",   ".cpp", ".cu",  ".cuh",  ".cmake", ".txt", ".sh",  ".md",
                                  ".json", ".csv", ".yml", ".html", ".prom",  ".svg", ".tidy"};

// Built things and hidden folders, except the one of continuous integration.
bool is_skipped_folder(const fs::path& path) {
  const std::string name = path.filename().string();
  return name == "build" || (name.front() == '.' && name != ".ci") || fs::exists(path / "CMakeCache.txt");
}

bool is_text(const fs::path& path) {
  if (path.parent_path().filename() == ".ci" || path.filename() == ".clang-tidy") return true;
  return std::find(kTextEndings.begin(), kTextEndings.end(), path.extension().string()) != kTextEndings.end();
}

std::string contents(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

}  // namespace

std::vector<TextFile> read_tree(const std::string& root) {
  std::vector<TextFile> files;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::recursive_directory_iterator(); ++it) {
    if (it->is_symlink() || (it->is_directory() && is_skipped_folder(it->path()))) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file() && is_text(it->path())) {
      files.push_back({fs::relative(it->path(), root).generic_string(), contents(it->path())});
    }
  }
  std::sort(files.begin(), files.end(), [](const TextFile& a, const TextFile& b) { return a.path < b.path; });
  return files;
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

bool is_code(const std::string& path) {
  return ends_with(path, ".cpp") || ends_with(path, ".h") || ends_with(path, ".cu") || ends_with(path, ".cuh");
}

}  // namespace orrery::tidy
