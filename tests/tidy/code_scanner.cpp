#include "tests/tidy/code_scanner.h"

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>

namespace orrery::tidy {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The end of what begins at `at` and is no code, or `at` itself.
std::size_t end_of_literal(const std::string& code, std::size_t at) {
  const auto after = [&](const std::string& end, std::size_t from) {
    const std::size_t found = code.find(end, from);
    return found == std::string::npos ? code.size() : found + end.size();
  };
  if (code.compare(at, 2, "//") == 0) return std::min(code.find('\n', at), code.size());
  if (code.compare(at, 2, "/*") == 0) return after("*/", at + 2);
  if (code.compare(at, 2, "R\"") == 0 && (at == 0 || !is_word(code[at - 1]))) {
    const std::size_t open = code.find('(', at);
    if (open != std::string::npos) return after(")" + code.substr(at + 2, open - at - 2) + "\"", open);
  }
  const char quote = code[at];
  if (quote != '"' && quote != '\'') return at;
  if (quote == '\'' && at > 0 && is_word(code[at - 1])) return at;  // 1'000'000
  std::size_t end = at + 1;
  while (end < code.size() && code[end] != quote && code[end] != '\n') end += code[end] == '\\' ? 2 : 1;
  return std::min(end + 1, code.size());
}

bool begins_line(const std::string& code, std::size_t at) {
  while (at > 0 && (code[at - 1] == ' ' || code[at - 1] == '\t')) --at;
  return at == 0 || code[at - 1] == '\n';
}

std::size_t end_of_directive(const std::string& code, std::size_t at) {
  while (at < code.size() && code[at] != '\n') at += code[at] == '\\' ? 2 : 1;
  return std::min(at, code.size());
}

// "template <typename T = A<int>> void f()" without "template <...>".
std::string without_template(std::string head) {
  for (std::size_t at = head.find("template"); at != std::string::npos; at = head.find("template", at)) {
    std::size_t end = head.find('<', at);
    int depth = 0;
    for (; end < head.size(); ++end) {
      depth += head[end] == '<' ? 1 : head[end] == '>' ? -1 : 0;
      if (depth == 0) break;
    }
    head.erase(at, std::min(end, head.size()) - at + 1);
  }
  return head;
}

enum class Scope { container, function, other };

Scope scope_of(const std::string& head) {
  static const std::regex kContainer(R"((^|[^\w])(namespace|class|struct|union|enum|extern)([^\w]|$))");
  const std::string plain = without_template(head);
  if (std::regex_search(plain, kContainer) && plain.find('=') == std::string::npos) return Scope::container;
  return plain.find(')') != std::string::npos ? Scope::function : Scope::other;
}

struct OpenBrace {
  Scope scope = Scope::other;
  std::string head;
  std::size_t begin = 0;  // offset of the head
  std::size_t brace = 0;
};

std::size_t line_at(const std::string& text, std::size_t offset) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

}  // namespace

std::string blank_out(const std::string& code) {
  std::string out = code;
  for (std::size_t at = 0; at < code.size();) {
    std::size_t end = end_of_literal(code, at);
    if (end == at && code[at] == '#' && begins_line(code, at)) end = end_of_directive(code, at);
    for (std::size_t i = at; i < end; ++i)
      if (code[i] != '\n') out[i] = ' ';
    at = std::max(end, at + 1);
  }
  return out;
}

std::vector<Function> functions_of(const std::string& code) {
  const std::string text = blank_out(code);
  std::vector<Function> found;
  std::vector<OpenBrace> open;
  std::size_t head_begin = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{') {
      const bool in_container = open.empty() || open.back().scope == Scope::container;
      const std::size_t begin = std::min(text.find_first_not_of(" \t\n", head_begin), at);
      const std::string head = text.substr(begin, at - begin);
      open.push_back({in_container ? scope_of(head) : Scope::other, head, begin, at});
    } else if (c == '}' && !open.empty()) {
      const OpenBrace& last = open.back();
      if (last.scope == Scope::function)
        found.push_back({last.head, text.substr(last.brace, at - last.brace), line_at(text, last.begin), line_at(text, at)});
      open.pop_back();
    }
    if (c == '{' || c == '}' || c == ';') head_begin = at + 1;
  }
  return found;
}

std::vector<Include> includes_of(const std::string& code) {
  std::vector<Include> found;
  std::istringstream lines(code);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (line.rfind("#include \"", 0) != 0) continue;
    const std::size_t begin = line.find('"') + 1;
    found.push_back({line.substr(begin, line.find('"', begin) - begin), number});
  }
  return found;
}

}  // namespace orrery::tidy
