// The documents point at what is there: every relative link, every heading named in one, every file of this repository
// named in backticks; and every page of docs/ can be reached from README.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/docs/markdown.h"
#include "tests/tidy/source_tree.h"

namespace orrery::docs {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;

// --- what is found in small texts ---

TEST(Links, OutsideOfCodeOnly) {
  const std::string text =
      "See [a](b.md) and ![c](d/e.svg#f), [web](https://x.org/y).\n"
      "`[no](code)`\n"
      "```console\n[no](fence)\n```\n"
      "[g](#h)\n";
  EXPECT_THAT(links(text), ElementsAre(Field(&Mention::target, "b.md"), Field(&Mention::target, "d/e.svg#f"),
                                       Field(&Mention::target, "#h")));
  EXPECT_EQ(links(text).back().line, 6U);
}

TEST(NamedFiles, HaveASlashAndAnEnding) {
  const std::string text =
      "`base/json.h`, `json.h`, `base/`, `a/<name>.json`, `a/*.json`, `x/{a,b}.cpp`, `/etc/x.conf`, `a b/c.d`,\n"
      "    `docs/x.md`\n"
      "```\n`base/fence.h`\n```\n"
      "`1.5/2`, `a/.../b.c`\n";
  EXPECT_THAT(named_files(text), ElementsAre(Field(&Mention::target, "base/json.h"), Field(&Mention::target, "docs/x.md")));
}

TEST(Anchors, AsGitHubForms) {
  EXPECT_THAT(anchors("# The `step` (time)\n\n## Limits\ntext\n## Limits\n```\n# no\n```\n#hash\n"),
              ElementsAre("limits", "limits-1", "the-step-time"));
}

// --- this repository ---

std::vector<tidy::TextFile> documents() {
  std::vector<tidy::TextFile> files = tidy::read_tree(".");
  files.erase(std::remove_if(files.begin(), files.end(),
                             [](const tidy::TextFile& f) { return !tidy::ends_with(f.path, ".md"); }),
              files.end());
  return files;
}

std::string contents(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

struct Target {
  std::string path, anchor;  // the path from the root
};

Target resolved(const std::string& document, const std::string& link) {
  const std::size_t hash = link.find('#');
  const std::string anchor = hash == std::string::npos ? "" : link.substr(hash + 1);
  const std::string path = link.substr(0, hash);
  if (path.empty()) return {document, anchor};
  return {(fs::path(document).parent_path() / path).lexically_normal().generic_string(), anchor};
}

TEST(Documents, AreRead) {
  std::vector<std::string> paths;
  for (const tidy::TextFile& file : documents()) paths.push_back(file.path);
  EXPECT_THAT(paths, testing::IsSupersetOf({"README.md", "docs/architecture.md"}));
}

TEST(Documents, LinksLeadSomewhere) {
  for (const tidy::TextFile& file : documents())
    for (const Mention& link : links(file.text)) {
      const Target to = resolved(file.path, link.target);
      const bool inside = to.path.rfind("..", 0) != 0;
      EXPECT_TRUE(inside && fs::exists(to.path)) << file.path << ":" << link.line << ": no such file: " << link.target;
      if (to.anchor.empty() || !fs::is_regular_file(to.path)) continue;
      EXPECT_TRUE(anchors(contents(to.path)).count(to.anchor) == 1)
          << file.path << ":" << link.line << ": no such heading: " << link.target;
    }
}

// Only what begins with a folder of this repository: other projects' files are named, too. Built files come and go.
TEST(Documents, NamedFilesExist) {
  for (const tidy::TextFile& file : documents())
    for (const Mention& named : named_files(file.text)) {
      const std::string folder = named.target.substr(0, named.target.find('/'));
      if (folder == "build" || folder == ".." || !fs::is_directory(folder)) continue;
      EXPECT_TRUE(fs::exists(named.target)) << file.path << ":" << named.line << ": no such file: " << named.target;
    }
}

// In help texts, messages and comments; tests name some that are none, and published runs pages of other projects.
TEST(Documents, PagesNamedInTheSourcesExist) {
  const std::regex page("docs/[A-Za-z0-9_/.-]+\\.md");
  std::size_t found = 0;
  for (const tidy::TextFile& file : tidy::read_tree(".")) {
    if (file.path.starts_with("tests/") || file.path.starts_with("validation/runs/") || tidy::ends_with(file.path, ".md")) continue;
    for (std::sregex_iterator at(file.text.begin(), file.text.end(), page), end; at != end; ++at, ++found)
      EXPECT_TRUE(fs::exists(at->str())) << file.path << ": no such page: " << at->str();
  }
  EXPECT_GT(found, 20U);
}

TEST(Documents, EveryPageIsReachedFromTheReadme) {
  std::set<std::string> reached{"README.md"};
  std::vector<std::string> open{"README.md"};
  while (!open.empty()) {
    const std::string page = open.back();
    open.pop_back();
    for (const Mention& link : links(contents(page))) {
      const std::string to = resolved(page, link.target).path;
      if (tidy::ends_with(to, ".md") && fs::exists(to) && reached.insert(to).second) open.push_back(to);
    }
  }
  std::vector<std::string> lost;
  for (const tidy::TextFile& file : documents())
    if (reached.count(file.path) == 0 && file.path.rfind("docs/", 0) == 0) lost.push_back(file.path);
  EXPECT_THAT(lost, IsEmpty()) << "link them from docs/README.md";
}

}  // namespace
}  // namespace orrery::docs
