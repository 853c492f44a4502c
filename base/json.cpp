// nlohmann/json's SAX parser drives a builder that keeps places. The parser says only *what* it met; *where* follows
// from the text: between two events stand nothing but white space, comments, ',' and ':', so the next token begins after
// those, and the counting iterator says where a string ended. The parser keeps its own stack and the builder is limited to
// 64 levels, so no input makes it recurse deeply. Cost: linear in the file; about 150 bytes a value.
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

namespace orrery {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxValues = std::size_t{1} << 21;

struct CountingIterator {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  const char* at = nullptr;
  std::size_t* consumed = nullptr;
  reference operator*() const { return *at; }
  CountingIterator& operator++() {
    ++at;
    ++*consumed;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) { return a.at == b.at; }
};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// Turns growing offsets into lines and columns in one pass over the text.
class LineCounter {
 public:
  explicit LineCounter(std::shared_ptr<const SourceFile> source) : source_(std::move(source)) {}
  Place place(std::size_t offset) {
    const std::string& text = source_->text;
    if (offset < at_) *this = LineCounter(source_);
    for (; at_ < offset; ++at_)
      if (text[at_] == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
      }
    return {source_, line_, static_cast<std::uint32_t>(offset - line_begin_ + 1)};
  }

 private:
  std::shared_ptr<const SourceFile> source_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  std::uint32_t line_ = 1;
};

class Builder {
 public:
  using Number = nlohmann::json;

  Builder(std::shared_ptr<const SourceFile> source, const std::size_t& consumed, Diagnostics& diagnostics)
      : source_(source), lines_(std::move(source)), consumed_(consumed), diagnostics_(diagnostics) {
    if (source_->text.rfind("\xEF\xBB\xBF", 0) == 0) cursor_ = 3;
  }

  Json take() { return failed_ ? Json{} : std::move(root_); }

  bool null() { return leaf(Json::Kind::null, 4) != nullptr; }
  bool boolean(bool value) {
    Json* json = leaf(Json::Kind::boolean, value ? 4 : 5);
    if (json) json->boolean = value;
    return json != nullptr;
  }
  bool number_integer(Number::number_integer_t value) { return integer(value); }
  bool number_unsigned(Number::number_unsigned_t value) {
    if (value > static_cast<Number::number_unsigned_t>(std::numeric_limits<std::int64_t>::max())) return too_large();
    return integer(static_cast<std::int64_t>(value));
  }
  bool number_float(Number::number_float_t value, const std::string& written) {
    if (written.find_first_of(".eE") == std::string::npos) return too_large();
    Json* json = leaf(Json::Kind::number, written.size());
    if (json) json->number = value;
    return json != nullptr;
  }
  bool string(std::string& value) {
    Json* json = leaf(Json::Kind::string, 0);
    if (!json) return false;
    cursor_ = consumed_;
    if (value.find('\0') != std::string::npos) error(json->place, "a string holds a NUL character", "remove \\u0000");
    json->string = std::move(value);
    return true;
  }
  bool binary(Number::binary_t&) { return false; }  // JSON text has none
  bool start_object(std::size_t) { return open(Json::Kind::object); }
  bool start_array(std::size_t) { return open(Json::Kind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    const Place place = begin_token();
    cursor_ = consumed_;
    Frame& frame = stack_.back();
    const auto [first, is_new] = frame.keys.emplace(name, place);
    if (!is_new)
      error(place, fmt::format("the key \"{}\" stands twice in this object", name),
            fmt::format("it was first at line {}: remove one of them", first->second.line));
    frame.value->members.push_back({std::move(name), place, {}});
    return true;
  }
  bool parse_error(std::size_t position, const std::string& last_token, const nlohmann::detail::exception& what);

 private:
  struct Frame {
    Json* value;
    std::unordered_map<std::string, Place> keys;
  };

  void error(Place place, std::string message, std::string hint) {
    diagnostics_.error(std::move(place), std::move(message), std::move(hint));
    failed_ = true;
  }

  // Moves the cursor to the first character of the token that the parser has just read.
  Place begin_token() {
    const std::string& text = source_->text;
    while (cursor_ < text.size()) {
      const char c = text[cursor_];
      if (is_space(c) || c == ',' || c == ':') {
        ++cursor_;
      } else if (c == '/' && cursor_ + 1 < text.size()) {
        const bool line_comment = text[cursor_ + 1] == '/';
        const std::size_t end = text.find(line_comment ? "\n" : "*/", cursor_ + 2);
        cursor_ = end == std::string::npos ? text.size() : end + (line_comment ? 1 : 2);
      } else {
        break;
      }
    }
    return lines_.place(std::min(cursor_, text.size()));
  }

  // The value of `length` characters that stands next; null when there are too many.
  Json* leaf(Json::Kind kind, std::size_t length) {
    const Place place = begin_token();
    cursor_ += length;
    if (++values_ > kMaxValues) {
      error(place, fmt::format("more than {} values in one file", kMaxValues), "split it, or check the file");
      return nullptr;
    }
    Json* slot = &root_;
    if (!stack_.empty()) {
      Json& parent = *stack_.back().value;
      slot = parent.kind == Json::Kind::array ? &parent.items.emplace_back() : &parent.members.back().value;
    }
    slot->kind = kind;
    slot->place = place;
    return slot;
  }

  bool integer(std::int64_t value) {
    const Place place = begin_token();
    const std::size_t end = source_->text.find_first_not_of("-0123456789", cursor_);
    Json* json = leaf(Json::Kind::integer, std::min(end, source_->text.size()) - cursor_);
    if (!json) return false;
    json->integer = value;
    json->number = static_cast<double>(value);
    return true;
  }

  bool too_large() {
    error(begin_token(), "the integer does not fit into 64 bits",
          "at most 9223372036854775807; write 1e30 where a real number is meant");
    return false;
  }

  bool open(Json::Kind kind) {
    if (stack_.size() == kMaxDepth) {
      error(begin_token(), fmt::format("objects and arrays are nested deeper than {} levels", kMaxDepth),
            "check the brackets before this place");
      return false;
    }
    Json* json = leaf(kind, 1);
    if (json) stack_.push_back({json, {}});
    return json != nullptr;
  }

  bool close() {
    begin_token();
    ++cursor_;
    stack_.pop_back();
    return true;
  }

  std::shared_ptr<const SourceFile> source_;
  LineCounter lines_;
  const std::size_t& consumed_;
  Diagnostics& diagnostics_;
  std::vector<Frame> stack_;
  Json root_;
  std::size_t cursor_ = 0;
  std::size_t values_ = 0;
  bool failed_ = false;
};

// The last place that holds something, for "the file ends too early".
std::size_t end_of_content(const std::string& text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return last == std::string::npos ? 0 : last + 1;
}

// From "[json.exception...] parse error at line 1, column 2: syntax error while parsing X - Y; last read: 'Z'; expected W"
// the part Y and W.
std::pair<std::string, std::string> explain_syntax(std::string text, const std::string& last_token) {
  const std::size_t dash = text.find(" - ");
  if (dash != std::string::npos) text.erase(0, dash + 3);
  const std::string read = "; last read: '" + last_token + "'";
  if (const std::size_t at = text.find(read); at != std::string::npos) text.erase(at, read.size());
  std::string expected;
  if (const std::size_t at = text.rfind("; expected "); at != std::string::npos) {
    expected = text.substr(at + 2);
    text.erase(at);
  }
  return {text, expected};
}

std::string syntax_hint(const std::string& what, const std::string& expected, const std::string& before) {
  const char last = before.empty() ? '\0' : before.back();
  if (last == ',' && (what == "unexpected '}'" || what == "unexpected ']'")) return "remove the comma before it";
  if (what == "unexpected string literal" && expected == "expected '}'") return "is a comma missing before it?";
  if (what.find("invalid literal") != std::string::npos)
    return "a word must be a \"string\" in double quotes, true, false or null; NaN and Infinity are not JSON";
  if (what.find("invalid comment") != std::string::npos) return "comments are // ... and /* ... */";
  return expected;
}

bool Builder::parse_error(std::size_t position, const std::string& last_token,
                          const nlohmann::detail::exception& what) {
  const std::string& text = source_->text;
  if (what.id == 406) {  // a real number that is larger than any double
    error(begin_token(), fmt::format("the number {} is out of range", last_token.substr(0, 40)),
          "at most about 1.8e308");
    return false;
  }
  auto [message, expected] = explain_syntax(what.what(), last_token);
  std::size_t offset = std::min(position, text.size());
  const bool at_end = position > text.size() || message.find("end of input") != std::string::npos;
  const bool bad_token = message.rfind("unexpected", 0) != 0;  // the last character read is wrong, not a whole token
  if (at_end) {
    offset = end_of_content(text);
    if (!bad_token) message = offset == 0 ? "the file is empty" : "unexpected end of the file";
  } else {
    // The parser's token text is exact for strings, numbers and words, but not for a single sign.
    const bool sign = offset > 0 && std::string_view(",:{}[]").find(text[offset - 1]) != std::string_view::npos;
    offset -= std::min(offset, bad_token || sign ? std::size_t{1} : last_token.size());
  }
  const std::string before = text.substr(0, end_of_content(text.substr(0, offset)));
  error(lines_.place(offset), "JSON syntax: " + message, syntax_hint(message, expected, before));
  return false;
}

}  // namespace

const Json* Json::find(std::string_view key) const {
  const auto it = std::find_if(members.begin(), members.end(), [&](const JsonMember& m) { return m.key == key; });
  return it == members.end() ? nullptr : &it->value;
}

Json* Json::find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }

std::string_view kind_name(Json::Kind kind) {
  switch (kind) {
    case Json::Kind::null: return "null";
    case Json::Kind::boolean: return "a boolean";
    case Json::Kind::integer: return "an integer";
    case Json::Kind::number: return "a number";
    case Json::Kind::string: return "a string";
    case Json::Kind::array: return "an array";
    case Json::Kind::object: return "an object";
  }
  return "nothing";
}

Json parse_json(std::shared_ptr<const SourceFile> source, Diagnostics& diagnostics) {
  const std::string& text = source->text;
  if (const std::size_t nul = text.find('\0'); nul != std::string::npos) {  // the parser would take it for the end
    diagnostics.error(LineCounter(source).place(nul), "the file holds a NUL byte", "JSON is text: is this the right file?");
    return {};
  }
  std::size_t consumed = 0;
  Builder builder(source, consumed, diagnostics);
  const CountingIterator begin{text.data(), &consumed};
  const CountingIterator end{text.data() + text.size(), &consumed};
  constexpr bool kStrict = true;
  constexpr bool kComments = true;
  nlohmann::json::sax_parse(begin, end, &builder, nlohmann::json::input_format_t::json, kStrict, kComments);
  return builder.take();
}

Json read_json(const std::string& path) {
  Diagnostics diagnostics;
  Json json = parse_json(read_source(path), diagnostics);
  diagnostics.throw_if_errors();
  return json;
}

std::string json_quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Json merge(const Json& under, const Json& over) {
  if (!under.is_object() || !over.is_object()) return over;
  Json result = under;
  result.place = over.place;
  for (const JsonMember& member : over.members) {
    if (Json* below = result.find(member.key)) {
      Json merged = merge(*below, member.value);
      *below = std::move(merged);
      const auto is_same = [&](const JsonMember& m) { return m.key == member.key; };
      std::find_if(result.members.begin(), result.members.end(), is_same)->key_place = member.key_place;
    } else {
      result.members.push_back(member);
    }
  }
  return result;
}

}  // namespace orrery
