// docs/accuracy.md says how far off predictions are. It is true: a group of 20 runs and more whose median moves by more than 0.2
// points, for worse or for better, is told here. ORRERY_UPDATE=1 writes the tables anew.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "sim/validation/accuracy_report.h"
#include "sim/validation/predict_runs.h"

namespace orrery::sim {
namespace {

constexpr const char* kDocument = "docs/accuracy.md";
constexpr const char* kBegin = "<!-- generated: begin -->\n";
constexpr const char* kEnd = "<!-- generated: end -->";
constexpr double kTolerance = 0.2;  // points
constexpr std::size_t kGroup = 20;  // runs

struct Group {
  std::size_t runs = 0;
  double median = 0.0;  // percent
};

// "quantity/table/group" -> its line.
std::map<std::string, Group> groups_of(const std::string& markdown) {
  std::map<std::string, Group> groups;
  std::istringstream lines(markdown);
  std::string line, quantity, table;
  while (std::getline(lines, line)) {
    if (line.starts_with("### ")) quantity = line.substr(4);
    std::vector<std::string> cells;
    std::istringstream parts(line);
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(cell);
    if (cells.size() < 5 || cells[1].starts_with("---")) continue;
    if (cells[2] == " runs ")
      table = cells[1];
    else
      groups[quantity + "/" + table + "/" + cells[1]] = {std::stoul(cells[2]), std::stod(cells[4])};
  }
  return groups;
}

TEST(Accuracy, IsAsDocumented) {
  const std::vector<PublishedRun> runs = read_published_runs("validation/runs");
  const std::string now = accuracy_markdown(predict_runs(runs, std::max(1U, std::thread::hardware_concurrency()), [] {}));
  std::ostringstream text;
  text << std::ifstream(kDocument).rdbuf();
  const std::string document = text.str();
  const std::size_t begin = document.find(kBegin), end = document.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t tables = begin + std::string(kBegin).size();
  if (std::getenv("ORRERY_UPDATE") != nullptr) {
    std::ofstream(kDocument) << document.substr(0, tables) << now << document.substr(end);
    return;
  }
  const std::map<std::string, Group> stated = groups_of(document.substr(tables, end - tables)), is = groups_of(now);
  ASSERT_GE(is.size(), 20U);
  for (const auto& [name, group] : is) {
    const auto found = stated.find(name);
    if (found == stated.end() || found->second.runs != group.runs) {
      ADD_FAILURE() << name << " has " << group.runs << " runs; ORRERY_UPDATE=1 rewrites " << kDocument;
      continue;
    }
    if (group.runs < kGroup) continue;
    EXPECT_LE(group.median, found->second.median + kTolerance + 1e-9) << name << ": worse than documented";
    EXPECT_GE(group.median, found->second.median - kTolerance - 1e-9) << name << ": better; ORRERY_UPDATE=1 rewrites " << kDocument;
  }
}

}  // namespace
}  // namespace orrery::sim
