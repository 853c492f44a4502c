// First that each rule finds its breach and nothing else in small texts, then that this repository keeps the rules.
#include "tests/tidy/house_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/code_scanner.h"

namespace orrery::tidy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string lines(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "  x();\n";
  return text;
}

TEST(CodeScanner, BlanksWhatIsNoCode) {
  EXPECT_EQ(blank_out("a // {\nb /* { */ c"), "a     \nb         c");
  EXPECT_EQ(blank_out("f(\"{\\\"\", '{', 1'000)"), "f(     ,    , 1'000)");
  EXPECT_EQ(blank_out("R\"x({\")x\";"), "         ;");
  EXPECT_EQ(blank_out("#define A { \\\n {\nb"), "             \n  \nb");
}

TEST(CodeScanner, TellsFunctionsFromTypesAndTables) {
  const std::string code =
      "namespace a {\n"
      "struct S : B {\n  int f() const { return 1; }\n  std::vector<int> v{1, 2};\n};\n"
      "template <class T, typename U = A<int>>\nvoid g(T t)\n{\n  auto l = [&](int i) { return i; };\n  if (t) {\n  }\n}\n"
      "const int table[] = {\n  h(1), 2};\n"
      "}\n";
  const std::vector<Function> functions = functions_of(code);
  ASSERT_THAT(functions, SizeIs(2));
  EXPECT_EQ(functions[0].lines(), 1U);
  EXPECT_EQ(functions[1].first_line, 6U);
  EXPECT_EQ(functions[1].last_line, 12U);
}

TEST(Arrows, FollowTheTable) {
  const std::vector<TextFile> files{{"base/a.h", ""},
                                    {"sim/b.h", "#include <vector>\n#include \"base/a.h\"\n"},
                                    {"base/c.h", "\n#include \"sim/b.h\"\n"},
                                    {"runtime/d.h", "#include \"sim/b.h\"\n"},
                                    {"kernels/e.h", "#include \"base/a.h\"\n"},
                                    {"tests/f.cpp", "#include \"sim/b.h\"\n"},
                                    {"sim/g.cpp", "#include \"b.h\"\n"}};
  EXPECT_THAT(check_arrows(files),
              ElementsAre("base/c.h:2: base may not include sim", "runtime/d.h:1: runtime may not include sim",
                          "kernels/e.h:1: kernels may not include base", HasSubstr("sim/g.cpp:1: \"b.h\" is no file")));
}

TEST(Circles, AreFoundOnce) {
  EXPECT_THAT(check_include_circles({{"a.h", "#include \"b.h\"\n"}, {"b.h", "#include \"c.h\"\n"}, {"c.h", "#include \"a.h\"\n"}}),
              ElementsAre("a.h:1: include circle: a.h -> b.h -> c.h -> a.h"));
  EXPECT_THAT(check_include_circles({{"a.h", "#include \"b.h\"\n#include \"c.h\"\n"}, {"b.h", "#include \"c.h\"\n"}, {"c.h", ""}}),
              IsEmpty());
}

TEST(Lengths, SeventyAndSixHundredAreTheLimits) {
  EXPECT_THAT(check_lengths({{"a.cpp", "void f() {\n" + lines(68) + "}\n"}}), IsEmpty());
  EXPECT_THAT(check_lengths({{"a.cpp", "void f() {\n" + lines(69) + "}\n"}}), ElementsAre("a.cpp:1: a function of 71 lines, at most 70"));
  EXPECT_THAT(check_lengths({{"a.h", std::string(600, '\n')}}), IsEmpty());
  EXPECT_THAT(check_lengths({{"a.h", std::string(601, '\n')}}), ElementsAre("a.h:1: 601 lines, at most 600"));
  EXPECT_THAT(check_lengths({{"a.json", std::string(9000, '\n')}}), IsEmpty());
}

TEST(Words, WholeWordsAndBeginningsOfPathsOnly) {
  const std::string postponed = std::string("TO") + "DO";
  const std::string home = std::string("/ho") + "me/";
  EXPECT_THAT(check_words({{"a.md", "x\n// " + postponed + ": later\n"}}), SizeIs(1));
  EXPECT_THAT(check_words({{"a.md", postponed + "S mkdtemp-" + std::string(6, 'X')}}), IsEmpty());
  EXPECT_THAT(check_words({{"a.md", "see " + home + "me/x"}}), SizeIs(1));
  EXPECT_THAT(check_words({{"a.md", "https://a.org" + home}, {"b.md", "frame" + std::string("wo") + "rk/x"}}), IsEmpty());
}

TEST(Names, SayWhatTheThingIs) {
  EXPECT_THAT(check_names({{"sim/string_utils.h", ""}, {"common/a.cpp", ""}, {"sim/scores.cpp", ""}}), SizeIs(2));
}

TEST(FirstComment, MayStandInTheHeader) {
  EXPECT_THAT(check_first_comment({{"a.cpp", "#include"}, {"a.h", "// what\n"}, {"b.cpp", "// what"}}), IsEmpty());
  EXPECT_THAT(check_first_comment({{"a.cpp", "#include"}, {"a.h", "#pragma once"}}), SizeIs(2));
}

TEST(TestsAssert, EveryTestNotOnlyEveryFile) {
  EXPECT_THAT(check_tests_assert({{"a_test.cpp", "TEST(A, B) { EXPECT_EQ(1, 1); }\nTEST(A, C) { f(); }\n"}}),
              ElementsAre("a_test.cpp:2: this test asserts nothing"));
  EXPECT_THAT(check_tests_assert({{"a_test.cpp", "TEST(A, B) { f(); /* EXPECT_EQ */ }\n"}, {"b_test.cpp", "int x;\n"}}), SizeIs(2));
}

TEST(TestsAssert, ThroughTheFunctionsThatTheyCall) {
  const std::string text =
      "void inner(int x) { EXPECT_EQ(x, 1); }\nvoid outer() { inner(2); }\nvoid idle() {}\n"
      "TEST(A, B) { outer(); }\nTEST(A, C) { idle(); }\nTEST(A, D) { shared(); }\n";
  EXPECT_THAT(check_tests_assert({{"a_test.cpp", text}, {"tests/b.h", "inline void shared() { ASSERT_TRUE(f()); }\n"}}),
              ElementsAre("a_test.cpp:5: this test asserts nothing"));
}

// --- this repository ---

const std::vector<TextFile>& repository() {
  static const std::vector<TextFile> kFiles = read_tree(".");
  return kFiles;
}

std::string listed(const Findings& findings) {
  std::string text;
  for (const std::string& finding : findings) text += finding + "\n";
  return text;
}

TEST(Repository, IsRead) {
  EXPECT_THAT(repository(), testing::Contains(testing::Field(&TextFile::path, "tests/tidy/house_rules.cpp")));
  std::size_t functions = 0;
  for (const TextFile& file : repository())
    if (is_code(file.path)) functions += functions_of(file.text).size();
  EXPECT_GT(functions, 300U);  // the scanner sees them
  EXPECT_THAT(repository(), testing::Each(testing::Field(&TextFile::path, testing::Not(testing::StartsWith("build/")))));
}

TEST(Repository, ArrowsFollowTheTable) { EXPECT_EQ(listed(check_arrows(repository())), ""); }
TEST(Repository, NoIncludeCircles) { EXPECT_EQ(listed(check_include_circles(repository())), ""); }
TEST(Repository, FunctionsAndFilesAreShort) { EXPECT_EQ(listed(check_lengths(repository())), ""); }
TEST(Repository, NoPostponedWorkAndNoMachinePaths) { EXPECT_EQ(listed(check_words(repository())), ""); }
TEST(Repository, NamesSayWhatTheThingIs) { EXPECT_EQ(listed(check_names(repository())), ""); }
TEST(Repository, EveryFileSaysWhatItIs) { EXPECT_EQ(listed(check_first_comment(repository())), ""); }
TEST(Repository, EveryTestAsserts) { EXPECT_EQ(listed(check_tests_assert(repository())), ""); }

}  // namespace
}  // namespace orrery::tidy
