#include "tests/tidy/house_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <sstream>
#include <string_view>

#include "tests/tidy/code_scanner.h"

namespace orrery::tidy {
namespace {

// A room may include itself and the rooms before it, except as said in may_include. What is here and below validation may
// include everything.
constexpr std::array kRooms{"base", "hardware", "models", "scenarios", "schedule", "sim", "kernels", "runtime", "validation", "tests"};

std::string room_of(const std::string& path) { return path.substr(0, path.find('/')); }

bool is_room(const std::string& name) { return std::find(kRooms.begin(), kRooms.end(), name) != kRooms.end(); }

bool may_include(const std::string& from, const std::string& to) {
  if (from == to) return true;
  if (from == "kernels" || (from == "runtime" && to == "sim")) return false;
  return std::find(kRooms.begin(), kRooms.end(), to) < std::find(kRooms.begin(), kRooms.end(), from);
}

// Names, in pieces that this file may hold.
const std::vector<std::string>& postponing_words() {
  static const std::vector<std::string> kWords{std::string("TO") + "DO", std::string("FIX") + "ME", std::string("X") + "XX"};
  return kWords;
}

const std::vector<std::string>& machine_paths() {
  static const std::vector<std::string> kPaths{std::string("/ho") + "me/", std::string("/wo") + "rk/", std::string("/ro") + "ot/",
                                               std::string("/Us") + "ers/"};
  return kPaths;
}

constexpr std::array kEmptyNames{"utils", "util", "common", "helpers", "helper", "misc", "manager", "core"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool holds_word(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(line[at - 1])) && (end == line.size() || !is_word(line[end]))) return true;
  }
  return false;
}

// The path begins there: "framework/" and a web address that goes on are not meant.
bool holds_path(std::string_view line, std::string_view path) {
  for (std::size_t at = line.find(path); at != std::string_view::npos; at = line.find(path, at + 1)) {
    const char before = at == 0 ? ' ' : line[at - 1];
    if (!is_word(before) && before != '.' && before != '-' && before != '}') return true;
  }
  return false;
}

void find_circle(const std::string& at, const std::map<std::string, std::vector<std::string>>& arrows,
                 std::vector<std::string>& path, std::set<std::string>& done, Findings& findings) {
  if (const auto begin = std::find(path.begin(), path.end(), at); begin != path.end()) {
    std::string circle;
    for (auto it = begin; it != path.end(); ++it) circle += *it + " -> ";
    findings.push_back(fmt::format("{}:1: include circle: {}{}", at, circle, at));
    return;
  }
  const auto next = arrows.find(at);
  if (next == arrows.end() || !done.insert(at).second) return;
  path.push_back(at);
  for (const std::string& to : next->second) find_circle(to, arrows, path, done, findings);
  path.pop_back();
}

bool asserts_itself(const std::string& body) {
  static constexpr std::array kSigns{"EXPECT_", "ASSERT_", "FAIL("};
  return std::any_of(kSigns.begin(), kSigns.end(), [&](const char* sign) { return body.find(sign) != std::string::npos; });
}

// "f" of "int A::f(int x) const".
std::string name_of(const Function& function) {
  const std::size_t end = function.head.find('(');
  std::size_t begin = std::min(end, function.head.size());
  while (begin > 0 && is_word(function.head[begin - 1])) --begin;
  return function.head.substr(begin, end - begin);
}

bool calls_one_of(const std::string& body, const std::set<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return holds_word(body, name); });
}

// Adds the functions that assert, themselves or through another of the set, until no more are found.
void add_asserting(const std::vector<Function>& functions, std::set<std::string>& names) {
  for (std::size_t before = names.size() + 1; before != names.size();) {
    before = names.size();
    for (const Function& function : functions) {
      const std::string name = name_of(function);
      const bool is_test = name.rfind("TEST", 0) == 0 || name.rfind("TYPED_TEST", 0) == 0;
      if (!is_test && !name.empty() && (asserts_itself(function.body) || calls_one_of(function.body, names)))
        names.insert(name);
    }
  }
}

}  // namespace

Findings check_arrows(const std::vector<TextFile>& files) {
  std::set<std::string> paths;
  for (const TextFile& file : files) paths.insert(file.path);
  Findings findings;
  for (const TextFile& file : files) {
    if (!is_code(file.path)) continue;
    const std::string from = room_of(file.path);
    for (const Include& include : includes_of(file.text)) {
      const std::string to = room_of(include.path);
      const std::string place = fmt::format("{}:{}", file.path, include.line);
      if (paths.count(include.path) == 0) {
        findings.push_back(fmt::format("{}: \"{}\" is no file from the root", place, include.path));
      } else if (is_room(from) && is_room(to) && !may_include(from, to)) {
        findings.push_back(fmt::format("{}: {} may not include {}", place, from, to));
      }
    }
  }
  return findings;
}

Findings check_include_circles(const std::vector<TextFile>& files) {
  std::map<std::string, std::vector<std::string>> arrows;
  for (const TextFile& file : files)
    if (is_code(file.path))
      for (const Include& include : includes_of(file.text)) arrows[file.path].push_back(include.path);
  Findings findings;
  std::vector<std::string> path;
  std::set<std::string> done;
  for (const auto& [file, includes] : arrows) find_circle(file, arrows, path, done, findings);
  return findings;
}

Findings check_lengths(const std::vector<TextFile>& files) {
  constexpr std::size_t kFunctionLines = 70;
  constexpr std::ptrdiff_t kFileLines = 600;
  Findings findings;
  for (const TextFile& file : files) {
    if (!is_code(file.path)) continue;
    const std::ptrdiff_t lines = std::count(file.text.begin(), file.text.end(), '\n');
    if (lines > kFileLines) findings.push_back(fmt::format("{}:1: {} lines, at most {}", file.path, lines, kFileLines));
    for (const Function& function : functions_of(file.text))
      if (function.lines() > kFunctionLines)
        findings.push_back(fmt::format("{}:{}: a function of {} lines, at most {}", file.path, function.first_line,
                                       function.lines(), kFunctionLines));
  }
  return findings;
}

Findings check_words(const std::vector<TextFile>& files) {
  Findings findings;
  for (const TextFile& file : files) {
    std::istringstream lines(file.text);
    std::string line;
    for (std::size_t number = 1; std::getline(lines, line); ++number) {
      for (const std::string& word : postponing_words())
        if (holds_word(line, word)) findings.push_back(fmt::format("{}:{}: {}: do it or leave it", file.path, number, word));
      for (const std::string& path : machine_paths())
        if (holds_path(line, path)) findings.push_back(fmt::format("{}:{}: {} is a path of one machine", file.path, number, path));
    }
  }
  return findings;
}

Findings check_names(const std::vector<TextFile>& files) {
  Findings findings;
  for (const TextFile& file : files) {
    if (!is_code(file.path)) continue;
    std::string piece;
    for (const char c : file.path + "/") {
      if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
        piece += c;
        continue;
      }
      if (std::find(kEmptyNames.begin(), kEmptyNames.end(), piece) != kEmptyNames.end())
        findings.push_back(fmt::format("{}:1: the name says \"{}\": name the thing", file.path, piece));
      piece.clear();
    }
  }
  return findings;
}

Findings check_first_comment(const std::vector<TextFile>& files) {
  std::set<std::string> commented;
  for (const TextFile& file : files)
    if (file.text.rfind("//", 0) == 0) commented.insert(file.path);
  Findings findings;
  for (const TextFile& file : files) {
    if (!is_code(file.path) || commented.count(file.path) != 0) continue;
    const std::string header = file.path.substr(0, file.path.rfind('.')) + ".h";
    if (commented.count(header) == 0)
      findings.push_back(fmt::format("{}:1: neither it nor a header beside it begins with a comment", file.path));
  }
  return findings;
}

Findings check_tests_assert(const std::vector<TextFile>& files) {
  std::set<std::string> shared;  // asserting functions in headers of tests
  for (const TextFile& file : files)
    if (room_of(file.path) == "tests" && ends_with(file.path, ".h")) add_asserting(functions_of(file.text), shared);
  Findings findings;
  for (const TextFile& file : files) {
    if (!ends_with(file.path, "_test.cpp")) continue;
    const std::vector<Function> functions = functions_of(file.text);
    std::set<std::string> asserting = shared;
    add_asserting(functions, asserting);
    std::size_t tests = 0;
    for (const Function& function : functions) {
      if (function.head.rfind("TEST", 0) != 0 && function.head.rfind("TYPED_TEST", 0) != 0) continue;
      ++tests;
      if (!asserts_itself(function.body) && !calls_one_of(function.body, asserting))
        findings.push_back(fmt::format("{}:{}: this test asserts nothing", file.path, function.first_line));
    }
    if (tests == 0) findings.push_back(fmt::format("{}:1: no test in this file", file.path));
  }
  return findings;
}

}  // namespace orrery::tidy
