#include "tests/docs/markdown.h"

#include <cctype>
#include <functional>
#include <map>
#include <sstream>

namespace orrery::docs {
namespace {

// Calls visit(number, line) for every line outside of code fences.
void each_line(const std::string& text, const std::function<void(std::size_t, const std::string&)>& visit) {
  std::istringstream lines(text);
  std::string line;
  bool in_fence = false;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    const std::size_t first = line.find_first_not_of(' ');
    const bool fence = first != std::string::npos && line.compare(first, 3, "```") == 0;
    if (fence) in_fence = !in_fence;
    if (!fence && !in_fence) visit(number, line);
  }
}

// The line with its backticked spans blanked, which are added to `spans` if it is there.
std::string without_code(const std::string& line, std::vector<std::string>* spans) {
  std::string plain = line;
  for (std::size_t open = line.find('`'); open != std::string::npos;) {
    const std::size_t close = line.find('`', open + 1);
    if (close == std::string::npos) break;
    if (spans != nullptr) spans->push_back(line.substr(open + 1, close - open - 1));
    plain.replace(open, close - open + 1, close - open + 1, ' ');
    open = line.find('`', close + 1);
  }
  return plain;
}

bool is_web_address(const std::string& target) {
  return target.find("://") != std::string::npos || target.rfind("mailto:", 0) == 0;
}

bool looks_like_a_file(const std::string& word) {
  const std::size_t slash = word.rfind('/'), dot = word.rfind('.');
  if (slash == std::string::npos || dot == std::string::npos || dot < slash + 2 || dot + 1 == word.size()) return false;
  if (word.front() == '/' || word.find("...") != std::string::npos) return false;
  for (const char c : word)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && std::string("_-./+").find(c) == std::string::npos) return false;
  return true;
}

std::string slug(const std::string& heading) {
  std::string text;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-')
      text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    else if (c == ' ')
      text += '-';
  }
  return text;
}

}  // namespace

std::vector<Mention> links(const std::string& text) {
  std::vector<Mention> found;
  each_line(text, [&](std::size_t number, const std::string& line) {
    const std::string plain = without_code(line, nullptr);
    for (std::size_t at = plain.find("]("); at != std::string::npos; at = plain.find("](", at + 2)) {
      const std::size_t close = plain.find(')', at);
      if (close == std::string::npos) break;
      const std::string target = plain.substr(at + 2, close - at - 2);
      if (!is_web_address(target)) found.push_back({number, target});
    }
  });
  return found;
}

std::vector<Mention> named_files(const std::string& text) {
  std::vector<Mention> found;
  each_line(text, [&](std::size_t number, const std::string& line) {
    std::vector<std::string> spans;
    without_code(line, &spans);
    for (const std::string& span : spans)
      if (looks_like_a_file(span)) found.push_back({number, span});
  });
  return found;
}

std::set<std::string> anchors(const std::string& text) {
  std::set<std::string> found;
  std::map<std::string, int> times;
  each_line(text, [&](std::size_t, const std::string& line) {
    const std::size_t level = line.find_first_not_of('#');
    if (level == 0 || level == std::string::npos || line[level] != ' ') return;
    const std::string name = slug(line.substr(level + 1));
    const int before = times[name]++;
    found.insert(before == 0 ? name : name + "-" + std::to_string(before));
  });
  return found;
}

}  // namespace orrery::docs
