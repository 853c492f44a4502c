// docs/reference/commands.md holds the help of every command as the program prints it. ORRERY_UPDATE=1 writes
// it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "sim/commands/command.h"

namespace orrery::sim {
namespace {

TEST(CommandsReference, IsTheHelp) {
  const std::string path = "docs/reference/commands.md";
  std::ifstream in(path);
  std::ostringstream read;
  read << in.rdbuf();
  std::string text = read.str();
  const std::string begin = "<!-- generated: begin -->\n", end = "<!-- generated: end -->";
  const std::size_t from = text.find(begin), to = text.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos) << path;
  const std::size_t start = from + begin.size();
  const std::string rendered = render_commands();
  if (std::getenv("ORRERY_UPDATE") != nullptr) {
    text.replace(start, to - start, rendered);
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text.substr(start, to - start), rendered) << "run this test with ORRERY_UPDATE=1";
}

}  // namespace
}  // namespace orrery::sim
