// Where a named file is looked for, and in which order.
#include "base/data_root.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace orrery {
namespace {

namespace fs = std::filesystem;

// A directory of its own, with one file "here.json" in "sub", removed at the end; $ORRERY_DATA is put back.
class DataRoot : public testing::Test {
 protected:
  void SetUp() override {
    const char* old = std::getenv("ORRERY_DATA");
    if (old != nullptr) old_ = old;
    std::string pattern = (fs::temp_directory_path() / "orrery-data-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
    fs::create_directories(directory_ / "sub");
    std::ofstream(directory_ / "sub" / "here.json") << "{}";
  }
  void TearDown() override {
    fs::remove_all(directory_);
    if (old_.empty()) {
      unsetenv("ORRERY_DATA");
    } else {
      setenv("ORRERY_DATA", old_.c_str(), 1);
    }
  }
  fs::path directory_;
  std::string old_;
};

TEST_F(DataRoot, IsTheSourceTreeUnlessTheEnvironmentSaysOtherwise) {
  unsetenv("ORRERY_DATA");
  EXPECT_TRUE(fs::exists(fs::path(data_root()) / "base" / "data_root.h"));
  setenv("ORRERY_DATA", directory_.c_str(), 1);
  EXPECT_EQ(data_root(), directory_.string());
}

TEST_F(DataRoot, BesideTheNamingFileComesFirst) {
  const SourceFile from{(directory_ / "sub" / "scenario.json").string(), ""};
  EXPECT_EQ(find_file("here.json", &from), (directory_ / "sub" / "here.json").string());
  const SourceFile deeper{(directory_ / "other" / "scenario.json").string(), ""};
  fs::create_directories(directory_ / "other");
  EXPECT_EQ(find_file("../sub/here.json", &deeper), (directory_ / "sub" / "here.json").string());
}

TEST_F(DataRoot, ThenTheWorkingDirectoryThenTheDataRoot) {
  EXPECT_EQ(find_file("base/data_root.h", nullptr), "base/data_root.h");
  EXPECT_EQ(find_file("sub/here.json", nullptr), "");
  setenv("ORRERY_DATA", directory_.c_str(), 1);
  EXPECT_EQ(find_file("sub/here.json", nullptr), (directory_ / "sub" / "here.json").string());
}

TEST_F(DataRoot, AbsolutePathsStayAndWhatIsNoFileIsNotFound) {
  const std::string absolute = (directory_ / "sub" / "here.json").string();
  EXPECT_EQ(find_file(absolute, nullptr), absolute);
  EXPECT_EQ(find_file((directory_ / "sub").string(), nullptr), "");
  EXPECT_EQ(find_file("", nullptr), "");
  EXPECT_EQ(find_file("/no/such/file.json", nullptr), "");
}

}  // namespace
}  // namespace orrery
