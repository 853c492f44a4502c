// Every example in the documents is run, and prints what they say. ORRERY_UPDATE=1 writes what it prints into
// them.
#include "tests/cli/doc_examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/cli/program.h"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

TEST(DocExamples, AreFoundInTheirFences) {
  const auto found = examples_of(
      "a\n```console\n$ orrery x\none\n$ git clone\n```\n```text\n$ no\n```\n```json file=b.json\n{}\n```\n");
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].command, "orrery x");
  EXPECT_EQ(found[0].expected, Lines{"one"});
  EXPECT_EQ(found[0].line, 3U);
  EXPECT_FALSE(is_run(found[1]));
  EXPECT_EQ(found[2].file, "b.json");
  EXPECT_EQ(found[2].content, "{}\n");
}

TEST(DocExamples, DotsStandForAnything) {
  EXPECT_TRUE(matches({"a", "..."}, {"a", "b", "c"}));
  EXPECT_TRUE(matches({"a", "..."}, {"a"}));
  EXPECT_TRUE(matches({"...", "step ... s", "z"}, {"a", "step 1.5 s", "z"}));
  EXPECT_FALSE(matches({"a"}, {"a", "b"}));
  EXPECT_FALSE(matches({"...", "b"}, {"a"}));
  EXPECT_FALSE(matches({"step ... s"}, {"step 1.5 ms "}));
  EXPECT_EQ(updated({"old", "...", "end"}, {"new", "x", "y", "END"}), (Lines{"new", "...", "END"}));
}

Lines documents() {
  Lines paths = {"README.md", "docs/reference/commands.md"};
  if (fs::is_directory("docs/tutorial"))
    for (const auto& entry : fs::directory_iterator("docs/tutorial"))
      if (entry.path().extension() == ".md") paths.push_back(entry.path().string());
  std::sort(paths.begin() + 2, paths.end());
  return paths;
}

std::string joined(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

void write_into(const std::string& path, const DocExample& example, const Lines& lines) {
  Lines document = lines_of(slurp(path));
  const auto at = document.begin() + static_cast<std::ptrdiff_t>(example.line);
  const auto end = document.erase(at, at + static_cast<std::ptrdiff_t>(example.expected.size()));
  document.insert(end, lines.begin(), lines.end());
  std::ofstream(path) << joined(document);
}

class Document : public testing::TestWithParam<std::string> {};

TEST_P(Document, ExamplesPrintWhatItSays) {
  const Scratch scratch;
  for (const char* room : {"scenarios", "models", "hardware", "docs"})
    fs::create_directory_symlink(fs::absolute(room), scratch.path(room));
  std::vector<DocExample> examples = examples_of(slurp(GetParam()));
  struct Change {
    DocExample example;
    Lines lines;
  };
  std::vector<Change> changes;
  for (const DocExample& example : examples) {
    if (example.command.empty()) {
      scratch.file(example.file, example.content);
      continue;
    }
    if (!is_run(example)) continue;
    const Ran ran = run_shell(shell_command(example), scratch.path());
    const std::string place = GetParam() + ":" + std::to_string(example.line);
    EXPECT_EQ(ran.code, 0) << place << ": " << example.command << "\n" << ran.out;
    if (ran.code != 0) continue;
    const Lines actual = lines_of(ran.out);
    if (matches(example.expected, actual)) continue;
    const Lines now = updated(example.expected, actual);
    if (std::getenv("ORRERY_UPDATE") != nullptr && !now.empty())
      changes.push_back({example, now});
    else
      ADD_FAILURE() << place << ": " << example.command << "\nprints\n"
                    << ran.out << "the document says\n"
                    << joined(example.expected) << "ORRERY_UPDATE=1 writes it";
  }
  for (auto change = changes.rbegin(); change != changes.rend(); ++change)
    write_into(GetParam(), change->example, change->lines);
}

std::string test_name(const testing::TestParamInfo<std::string>& document) {
  std::string name = document.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Documents, Document, testing::ValuesIn(documents()), test_name);

}  // namespace
}  // namespace orrery::cli
