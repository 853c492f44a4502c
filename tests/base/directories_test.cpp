// Directories that cannot be made or listed are failures of the surroundings, with the path and the reason.
#include "base/directories.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/check.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Directories : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "orrery-directories-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    std::ofstream(root_ / "file.json") << "{}";
  }
  void TearDown() override { fs::remove_all(root_); }
  fs::path root_;
};

template <typename Call>
std::string failure_of(Call&& call) {
  try {
    call();
  } catch (const WorldError& error) {
    return error.what();
  }
  return "nothing failed";
}

TEST_F(Directories, AreMadeWithThoseAbove) {
  make_directories((root_ / "a" / "b").string());
  EXPECT_TRUE(fs::is_directory(root_ / "a" / "b"));
  make_directories((root_ / "a" / "b").string());
  EXPECT_TRUE(fs::is_directory(root_ / "a" / "b")) << "one that is there is left";
}

TEST_F(Directories, AFileInTheirPlaceIsSaid) {
  for (const fs::path& path : {root_ / "file.json", root_ / "file.json" / "below"})
    EXPECT_THAT(failure_of([&] { make_directories(path.string()); }), HasSubstr(path.string() + ": cannot be made: "));
  EXPECT_THAT(failure_of([&] { make_directories(""); }), HasSubstr("cannot be made"));
}

TEST_F(Directories, FilesAreListedByTheirEnd) {
  std::ofstream(root_ / "another.json") << "{}";
  std::ofstream(root_ / "no.csv") << "x";
  EXPECT_EQ(files_in(root_, ".json"), (std::vector<fs::path>{root_ / "another.json", root_ / "file.json"}));
  EXPECT_THAT(failure_of([&] { files_in(root_ / "none", ".json"); }), HasSubstr("none: cannot be listed: "));
}

}  // namespace
}  // namespace orrery
