// How findings look, what "did you mean" answers, and which files cannot be read.
#include "base/diagnostics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/source_text.h"

namespace orrery {
namespace {

using test::source_text;
using testing::HasSubstr;
using testing::ThrowsMessage;

Place at(const std::string& text, std::uint32_t line, std::uint32_t column) { return {source_text(text), line, column}; }

TEST(Print, PutsTheCaretUnderItsColumn) {
  const Place place = at("{\n    \"tp\": 3,\n}", 2, 11);
  EXPECT_EQ(print({Severity::error, place, "tp=3 does not divide num_heads=32", "use 1, 2, 4, 8, 16 or 32"}),
            "test.json:2:11: error: tp=3 does not divide num_heads=32\n"
            "  2 |     \"tp\": 3,\n"
            "    |           ^ use 1, 2, 4, 8, 16 or 32\n");
}

TEST(Print, KeepsTabsAndCountsCharactersNotBytes) {
  EXPECT_EQ(print({Severity::warning, at("\t\"\xC3\xA9\": 1", 1, 7), "m", ""}),
            "test.json:1:7: warning: m\n"
            "  1 | \t\"\xC3\xA9\": 1\n"
            "    | \t    ^\n");
}

TEST(Print, ShowsAWindowOfALongLine) {
  const std::string text = print({Severity::error, at(std::string(5000, 'a') + "X" + std::string(5000, 'b'), 1, 5001), "m", "h"});
  std::size_t line_begin = text.find('\n') + 1;
  const std::string excerpt = text.substr(line_begin, text.find('\n', line_begin) - line_begin);
  const std::string caret = text.substr(line_begin + excerpt.size() + 1);
  EXPECT_LT(excerpt.size(), 140U);
  EXPECT_EQ(excerpt.find('X'), caret.find('^'));
}

TEST(Print, WithoutAPlaceThereIsNoExcerpt) {
  EXPECT_EQ(print({Severity::error, {}, "m", "h"}), "error: m\n  hint: h\n");
  EXPECT_EQ(print({Severity::note, at("x", 0, 0), "m", ""}), "test.json: note: m\n");
}

TEST(Print, HidesControlBytes) {
  EXPECT_EQ(print({Severity::error, at("a\x1b[31mb\r\nc", 1, 1), "bad \x1b", ""}),
            "test.json:1:1: error: bad ?\n  1 | a?[31mb\n    | ^\n");
}

TEST(Print, APlaceBehindTheEndIsNoCrash) {
  EXPECT_THAT(print({Severity::error, at("a\nb", 99, 99), "m", ""}), HasSubstr("test.json:99:99: error: m\n"));
}

TEST(Diagnostics, CountsErrorsNotWarnings) {
  Diagnostics diagnostics;
  diagnostics.warning({}, "w");
  EXPECT_FALSE(diagnostics.has_errors());
  EXPECT_NO_THROW(diagnostics.throw_if_errors());
  diagnostics.error({}, "e");
  EXPECT_TRUE(diagnostics.has_errors());
  EXPECT_THROW(diagnostics.throw_if_errors(), InputError);
  EXPECT_EQ(diagnostics.text(), "warning: w\nerror: e\n");
}

TEST(Diagnostics, KeepsTheFirstHundredAndCountsTheRest) {
  Diagnostics diagnostics;
  for (int i = 0; i < 250; ++i) diagnostics.error({}, "e");
  EXPECT_EQ(diagnostics.all().size(), 100U);
  EXPECT_THAT(diagnostics.text(), HasSubstr("150 more findings are not shown"));
}

TEST(NearestWord, FindsTyposAndSwapsAndCase) {
  const std::vector<std::string> words{"micro_batch", "global_batch", "precision", "tp", "pp", "bf16"};
  EXPECT_EQ(nearest_word("mirco_batch", words), "micro_batch");
  EXPECT_EQ(nearest_word("globalbatch", words), "global_batch");
  EXPECT_EQ(nearest_word("Precision", words), "precision");
  EXPECT_EQ(nearest_word("bf61", words), "bf16");
  EXPECT_EQ(nearest_word("TP", words), "tp");
}

TEST(NearestWord, IsSilentWhenNothingIsNear) {
  const std::vector<std::string> words{"micro_batch", "tp"};
  EXPECT_EQ(nearest_word("optimizer", words), "");
  EXPECT_EQ(nearest_word("xy", words), "");
  EXPECT_EQ(nearest_word("", words), "");
  EXPECT_EQ(nearest_word(std::string(100'000, 'a'), words), "");
}

TEST(ReadSource, SaysWhyAFileCannotBeRead) {
  EXPECT_THAT([] { read_source("no/such.json"); }, ThrowsMessage<InputError>(HasSubstr("no/such.json: error: no such file")));
  EXPECT_THAT([] { read_source("base"); }, ThrowsMessage<InputError>(HasSubstr("is a directory")));
  EXPECT_THAT([] { read_source(""); }, ThrowsMessage<InputError>(HasSubstr("no such file")));
  EXPECT_THAT([] { read_source("/dev/zero"); }, ThrowsMessage<InputError>(HasSubstr("larger than 64 MiB")));
}

TEST(ReadSource, KeepsThePathAsNamed) {
  const auto source = read_source("base/diagnostics.h");
  EXPECT_EQ(source->path, "base/diagnostics.h");
  EXPECT_THAT(source->text, HasSubstr("nearest_word"));
}

}  // namespace
}  // namespace orrery
