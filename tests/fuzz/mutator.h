// Random mutations of a text, for tests that feed readers with damaged files: bytes changed, removed, doubled, pieces copied
// from elsewhere in the text, and tokens that have been trouble before put in. A mutation is a function of its number, so
// every failure can be repeated. Cost: linear in the text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"

namespace orrery::test {

class Mutator {
 public:
  explicit Mutator(std::uint64_t number) : stream_({.seed = number, .purpose = DrawPurpose::search}) {}

  std::string mutate(std::string text) {
    const std::uint64_t edits = 1 + below(4);
    for (std::uint64_t i = 0; i < edits; ++i) edit(text);
    return text;
  }
  // One of the texts.
  const std::string& pick(const std::vector<std::string>& texts) { return texts[below(texts.size())]; }
  std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : stream_.below(drawn_++, n); }

 private:
  void edit(std::string& text);
  RandomStream stream_;
  std::uint64_t drawn_ = 0;
};

inline void Mutator::edit(std::string& text) {
  static const std::vector<std::string> kTokens{
      "null", "true", "-1", "0", "1e999", "-0.0", "1e-320", "9223372036854775807", "9223372036854775808",
      "-9223372036854775808", "1e18", "[", "]", "{", "}", ",", ":", "\"", "\\", "\\u0000", "\\ud800", "//", "/*", "*/", "NaN",
      "\"\"", "[[[[[[[[", "\xFF", "\xC3", "\xEF\xBB\xBF", std::string(1, '\0'), "\n", "\"80 GiB\"", "\"-5 us\"", "\"1e300 s\"",
      "{\"a\":1}", "4294967296", "2147483648"};
  const std::uint64_t at = below(text.size() + 1);
  const std::uint64_t length = below(1 + below(32));
  switch (below(7)) {
    case 0: text.insert(at, kTokens[below(kTokens.size())]); break;
    case 1: text.insert(at, 1, static_cast<char>(below(256))); break;
    case 2: text.erase(at, length); break;
    case 3: text.resize(at); break;
    case 4: text.insert(below(text.size() + 1), text.substr(at, length)); break;
    case 5: {  // a number, word or string becomes another
      const std::size_t begin = text.find_first_of("0123456789\"tfn", at);
      if (begin == std::string::npos) break;
      const std::size_t end = text.find_first_of(",:]} \n", begin);
      text.replace(begin, (end == std::string::npos ? text.size() : end) - begin, kTokens[below(kTokens.size())]);
      break;
    }
    default:
      if (at < text.size()) text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << below(8)));
      break;
  }
}

}  // namespace orrery::test
