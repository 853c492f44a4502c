// Tokens of one line of the text form. Words hold letters, digits and . _ ' / - ; a number is a word too
// (1e+20 keeps its sign). Everything else is a mark of one character, or "+=".
#include "schedule/text/line.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace orrery::schedule {
namespace {

constexpr std::size_t kListedChoices = 16;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == '.' ||
         c == '\'' || c == '/' || c == '-';
}

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string shown(const Token& token) {
  if (token.kind == Token::Kind::end) return "the end of the line";
  constexpr std::size_t kLongest = 40;
  return token.text.size() > kLongest ? fmt::format("'{}...'", token.text.substr(0, kLongest))
                                      : fmt::format("'{}'", token.text);
}

}  // namespace

Line::Line(std::shared_ptr<const SourceFile> source, std::string_view text, std::uint32_t number,
           Diagnostics& diagnostics)
    : source_(std::move(source)), number_(number), diagnostics_(diagnostics) {
  tokenize(text);
}

void Line::tokenize(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
    } else if (text.substr(at, 2) == "//") {
      break;
    } else if (c == '"') {
      at = read_string(text, at);
    } else if (is_word_char(c)) {
      at = read_word(text, at);
    } else {
      const std::size_t length = text.substr(at, 2) == "+=" ? 2 : 1;
      tokens_.push_back(
          {Token::Kind::mark, std::string(text.substr(at, length)), static_cast<std::uint32_t>(at + 1)});
      at += length;
    }
  }
  tokens_.push_back({Token::Kind::end, {}, static_cast<std::uint32_t>(text.size() + 1)});
}

std::size_t Line::read_word(std::string_view text, std::size_t at) {
  const std::size_t first = at;
  const auto exponent_sign = [&](std::size_t i) {
    return text[i] == '+' && i > first && is_digit(text[first]) &&
           (text[i - 1] == 'e' || text[i - 1] == 'E') && i + 1 < text.size() && is_digit(text[i + 1]);
  };
  while (at < text.size() && (is_word_char(text[at]) || exponent_sign(at)) && text.substr(at, 2) != "//")
    ++at;
  tokens_.push_back({Token::Kind::word, std::string(text.substr(first, at - first)),
                     static_cast<std::uint32_t>(first + 1)});
  return at;
}

std::size_t Line::read_string(std::string_view text, std::size_t at) {
  Token token{Token::Kind::string, {}, static_cast<std::uint32_t>(at + 1)};
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] != '\\') {
      token.text += text[at];
      continue;
    }
    const char escaped = at + 1 < text.size() ? text[at + 1] : '\0';
    const int high = at + 3 < text.size() ? hex_digit(text[at + 2]) : -1;
    const int low = at + 3 < text.size() ? hex_digit(text[at + 3]) : -1;
    if (escaped == '"' || escaped == '\\') {
      token.text += escaped;
      at += 1;
    } else if (escaped == 'x' && high >= 0 && low >= 0) {
      token.text += static_cast<char>(high * 16 + low);
      at += 3;
    } else {
      fail_at(token, "unknown escape in a string", R"(use \", \\ or \xHH)");
    }
  }
  if (at >= text.size()) fail_at(token, "this string does not end", "close it with \" on the same line");
  tokens_.push_back(std::move(token));
  return at + 1;
}

const Token& Line::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

Token Line::take() {
  Token token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool Line::accept(std::string_view mark) {
  if (peek().kind != Token::Kind::mark || peek().text != mark) return false;
  ++at_;
  return true;
}

bool Line::accept_word(std::string_view word) {
  if (peek().kind != Token::Kind::word || peek().text != word) return false;
  ++at_;
  return true;
}

void Line::expect(std::string_view mark, std::string_view where) {
  if (!accept(mark)) fail(fmt::format("expected '{}' behind {}, found {}", mark, where, shown(peek())));
}

void Line::expect_end() {
  if (!at_end()) fail(fmt::format("did not expect {} here", shown(peek())));
}

std::string Line::name(std::string_view what) {
  if (peek().kind != Token::Kind::word && peek().kind != Token::Kind::string)
    fail(fmt::format("expected {}, found {}", what, shown(peek())));
  return take().text;
}

std::string Line::word(std::string_view what) {
  if (peek().kind != Token::Kind::word) fail(fmt::format("expected {}, found {}", what, shown(peek())));
  return take().text;
}

void Line::rectangle(std::int64_t& rows, std::int64_t& columns, bool vector) {
  const Token token = peek();
  const std::string text = word("a size");
  const auto part = [&](std::string_view digits) {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || stop != digits.data() + digits.size() || value < 0 || value > kMaxInteger)
      fail_at(token, fmt::format("expected a size, found {}", shown(token)),
              vector ? "rows and columns as 64x128, or one number" : "rows and columns as 64x128");
    return value;
  };
  const std::string_view view = text;
  const std::size_t cross = view.find('x');
  const bool one = cross == std::string_view::npos && vector;
  rows = one ? 1 : part(view.substr(0, cross));
  columns =
      one ? part(view) : part(cross == std::string_view::npos ? std::string_view() : view.substr(cross + 1));
}

std::int64_t Line::integer(std::string_view what, std::int64_t min, std::int64_t max) {
  const std::size_t start = at_;
  const bool signed_plus = accept("+");
  const Token token = peek();
  std::int64_t value = 0;
  const char* end = token.text.data() + token.text.size();
  const auto [stop, error] = std::from_chars(token.text.data(), end, value);
  const bool whole =
      token.kind == Token::Kind::word && stop == end && !(signed_plus && token.text.front() == '-');
  if (!whole || error == std::errc::invalid_argument)
    fail_at(tokens_[start], fmt::format("expected an integer for {}, found {}", what, shown(tokens_[start])));
  if (error == std::errc::result_out_of_range || value < min || value > max)
    fail_at(token, fmt::format("{} is {}, out of range", what, token.text),
            fmt::format("from {} to {}", min, max));
  take();
  return value;
}

std::uint32_t Line::count(std::string_view what, std::uint32_t max) {
  return static_cast<std::uint32_t>(integer(what, 0, max));
}

double Line::number(std::string_view what) {
  const Token token = peek();
  double value = 0.0;
  const char* end = token.text.data() + token.text.size();
  const auto [stop, error] = std::from_chars(token.text.data(), end, value);
  if (token.kind != Token::Kind::word || stop != end || error != std::errc() || !std::isfinite(value))
    fail(fmt::format("expected a number for {}, found {}", what, shown(token)));
  take();
  return value;
}

void Line::value(bool& v, std::string_view key) {
  const Token token = peek();
  const std::string text = word(key);
  if (text != "true" && text != "false")
    fail_at(token, fmt::format("expected true or false for {}, found {}", key, shown(token)));
  v = text == "true";
}

void Line::fail_at(const Token& token, std::string message, std::string hint) {
  diagnostics_.error(place(token), std::move(message), std::move(hint));
  throw LineError();
}

void Line::fail_unknown(const Token& token, std::string_view what, const std::string& text,
                        const std::vector<std::string>& allowed) {
  std::string hint;
  if (const std::string near = nearest_word(text, allowed); !near.empty())
    hint = fmt::format("did you mean {}?", near);
  else if (allowed.empty())
    hint = "none is declared";
  else if (allowed.size() <= kListedChoices)
    hint = fmt::format("one of {}", fmt::join(allowed, " "));
  fail_at(token, fmt::format("{} is no {}", shown(token), what), hint);
}

}  // namespace orrery::schedule
