// One statement of the text form: the tokens of a line, read from left to right. Whoever meets something
// wrong calls fail(), which reports the place and throws LineError; the parser catches it and goes on with
// the next line, so that every line's first mistake is reported.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "schedule/text/fields.h"

namespace orrery::schedule {

struct LineError {};

struct Token {
  enum class Kind : std::uint8_t { word, string, mark, end };
  Kind kind = Kind::end;
  std::string text;  // of a string: unescaped
  std::uint32_t column = 0;
};

class Line {
 public:
  // Splits into tokens. Comments (// to the end of the line) and blanks vanish.
  Line(std::shared_ptr<const SourceFile> source, std::string_view text, std::uint32_t number,
       Diagnostics& diagnostics);

  bool at_end() const { return peek().kind == Token::Kind::end; }
  const Token& peek(std::size_t ahead = 0) const;
  Token take();
  bool accept(std::string_view mark);
  bool accept_word(std::string_view word);
  void expect(std::string_view mark, std::string_view where);
  void expect_end();

  std::string name(std::string_view what);  // a word or a quoted string
  std::string word(std::string_view what);
  // `rows` x `columns` written as one word, "64x128"; "4096" is one row where `vector` allows it.
  void rectangle(std::int64_t& rows, std::int64_t& columns, bool vector);
  std::int64_t integer(std::string_view what, std::int64_t min, std::int64_t max);
  std::uint32_t count(std::string_view what, std::uint32_t max = 0xffffffffU);
  double number(std::string_view what);

  template <typename Enum>
  Enum choice(std::string_view what) {
    const Token token = peek();
    const std::string text = word(what);
    if (const auto value = from_word<Enum>(text)) return *value;
    fail_unknown(token, what, text, all_words<Enum>());
  }

  // The value behind `key=`.
  void value(std::int64_t& v, std::string_view key) { v = integer(key, kMinInteger, kMaxInteger); }
  void value(std::int32_t& v, std::string_view key) {
    v = static_cast<std::int32_t>(integer(key, 0, 0x7fffffff));
  }
  void value(double& v, std::string_view key) { v = number(key); }
  void value(bool& v, std::string_view key);
  void value(std::string& v, std::string_view key) { v = name(key); }
  template <typename Enum>
  void value(Enum& v, std::string_view key) {
    v = choice<Enum>(key);
  }

  Place place(const Token& token) const { return {source_, number_, token.column}; }
  Place place() const { return place(peek()); }
  [[noreturn]] void fail(std::string message, std::string hint = {}) {
    fail_at(peek(), std::move(message), std::move(hint));
  }
  [[noreturn]] void fail_at(const Token& token, std::string message, std::string hint = {});
  [[noreturn]] void fail_unknown(const Token& token, std::string_view what, const std::string& text,
                                 const std::vector<std::string>& allowed);

  static constexpr std::int64_t kMaxInteger = 9'000'000'000'000'000;
  static constexpr std::int64_t kMinInteger = -kMaxInteger;

 private:
  void tokenize(std::string_view text);
  std::size_t read_string(std::string_view text, std::size_t at);
  std::size_t read_word(std::string_view text, std::size_t at);

  std::shared_ptr<const SourceFile> source_;
  std::uint32_t number_ = 0;
  Diagnostics& diagnostics_;
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

// Reads `key=value` into the field of that key; `each` lists the object's fields.
template <typename T, typename Each>
void read_field(Line& line, T& object, std::string_view what, Each&& each) {
  const Token token = line.peek();
  const std::string key = line.word(what);
  bool found = false;
  std::vector<std::string> keys;
  each(object, [&](std::string_view field, auto& member) {
    keys.emplace_back(field);
    if (found || field != key) return;
    found = true;
    line.expect("=", key);
    line.value(member, field);
  });
  if (!found) line.fail_unknown(token, what, key, keys);
}

}  // namespace orrery::schedule
