#include "tests/cli/doc_examples.h"

#include <algorithm>
#include <sstream>

namespace orrery::cli {
namespace {

constexpr const char* kAnyLines = "...";

bool line_matches(const std::string& pattern, const std::string& line) {
  const std::size_t dots = pattern.find("...");
  if (dots == std::string::npos) return pattern == line;
  if (line.compare(0, dots, pattern, 0, dots) != 0) return false;
  const std::string rest = pattern.substr(dots + 3);
  for (std::size_t from = dots; from <= line.size(); ++from)
    if (line_matches(rest, line.substr(from))) return true;
  return false;
}

bool match_from(const std::vector<std::string>& expected, std::size_t e,
                const std::vector<std::string>& actual, std::size_t a) {
  for (; e < expected.size(); ++e, ++a) {
    if (expected[e] == kAnyLines) {
      for (std::size_t from = a; from <= actual.size(); ++from)
        if (match_from(expected, e + 1, actual, from)) return true;
      return false;
    }
    if (a >= actual.size() || !line_matches(expected[e], actual[a])) return false;
  }
  return a == actual.size();
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<DocExample> examples_of(const std::string& document) {
  std::vector<DocExample> examples;
  enum { outside, console, file, other } state = outside;
  const std::vector<std::string> lines = lines_of(document);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    if (line.starts_with("```")) {
      const std::size_t named = line.find("file=");
      if (state != outside)
        state = outside;
      else if (line == "```console")
        state = console;
      else
        state = named == std::string::npos ? other : file;
      if (state == file) examples.push_back({i + 1, "", line.substr(named + 5), "", {}});
    } else if (state == console && line.starts_with("$ ")) {
      examples.push_back({i + 1, line.substr(2), "", "", {}});
    } else if (state == console && !examples.empty()) {
      examples.back().expected.push_back(line);
    } else if (state == file) {
      examples.back().content += line + "\n";
    }
  }
  return examples;
}

bool is_run(const DocExample& example) {
  for (const char* prefix : {"git ", "cd ", "./test.sh"})
    if (example.command.starts_with(prefix)) return false;
  return true;
}

std::string shell_command(const DocExample& example) {
  std::string command = example.command;
  if (command == "./run.sh") return "orrery compare scenarios/gpt-70b/*.json";
  for (const std::string program : {"./run.sh ", "build/release/bin/orrery "})
    if (command.starts_with(program)) command.replace(0, program.size(), "orrery ");
  return command;
}

bool matches(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  return match_from(expected, 0, actual, 0);
}

std::vector<std::string> updated(const std::vector<std::string>& expected,
                                 const std::vector<std::string>& actual) {
  const auto first = std::find(expected.begin(), expected.end(), kAnyLines);
  if (first == expected.end()) return actual;
  const auto last = std::find(expected.rbegin(), expected.rend(), kAnyLines);
  const auto before = first - expected.begin(), behind = last - expected.rbegin();
  if (before + behind > static_cast<std::ptrdiff_t>(actual.size())) return {};
  std::vector<std::string> lines(actual.begin(), actual.begin() + before);
  lines.insert(lines.end(), first, last.base());
  lines.insert(lines.end(), actual.end() - behind, actual.end());
  return matches(lines, actual) ? lines : std::vector<std::string>{};
}

}  // namespace orrery::cli
