#include "tests/cases/document.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace orrery::cases {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string markdown(const Table& table) {
  std::string text;
  for (std::size_t r = 0; r < table.size(); ++r) {
    for (const std::string& cell : table[r]) text += "| " + cell + " ";
    text += "|\n";
    if (r > 0) continue;
    for (std::size_t c = 0; c < table[r].size(); ++c) text += c == 0 ? "|---" : "|---:";
    text += "|\n";
  }
  return text;
}

void expect_block(const std::string& document, const std::string& name, const std::string& text) {
  const std::string all = read(document), open = "<!-- generated: " + name + " -->\n", close = "<!-- end -->";
  const std::size_t at = all.find(open);
  ASSERT_NE(at, std::string::npos) << document << " has no block " << name;
  const std::size_t begin = at + open.size(), end = all.find(close, begin);
  ASSERT_NE(end, std::string::npos) << document << ": the block " << name << " does not end";
  if (std::getenv("ORRERY_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(document, std::ios::binary) << all.substr(0, begin) + text + all.substr(end);
    return;
  }
  EXPECT_EQ(all.substr(begin, end - begin), text)
      << "block " << name << " of " << document << "; ORRERY_UPDATE_GOLDEN=1 rewrites it";
}

std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100.0 * share); }

}  // namespace orrery::cases
