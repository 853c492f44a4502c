// Golden transcripts: a text must equal the file tests/sim/report/golden/NAME. ORRERY_UPDATE_GOLDEN=1 writes
// the files instead; read the difference before committing it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace orrery::sim::testing {

inline void expect_transcript(const std::string& name, const std::string& text) {
  const std::string path = "tests/sim/report/golden/" + name;
  if (std::getenv("ORRERY_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing; ORRERY_UPDATE_GOLDEN=1 writes it";
  std::stringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str()) << "differs from " << path << "; ORRERY_UPDATE_GOLDEN=1 rewrites it";
}

}  // namespace orrery::sim::testing
