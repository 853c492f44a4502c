// Damaged hardware files: cut off anywhere, with bytes changed, pieces repeated or numbers blown up. The reader must
// diagnose or succeed; it never crashes, hangs or throws anything but InputError. Bounded, seeded: the same every time.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "base/data_root.h"
#include "hardware/cluster_reader.h"

namespace orrery::hardware {
namespace {

// Returns whether the text was accepted.
bool survives(const std::string& text, bool gpu) {
  auto source = std::make_shared<SourceFile>();
  source->path = "fuzz.json";
  source->text = text;
  Diagnostics diagnostics;
  const Json json = parse_json(source, diagnostics);
  if (diagnostics.has_errors()) return false;
  if (gpu) static_cast<void>(read_gpu(json, diagnostics));
  else static_cast<void>(read_cluster(json, diagnostics));
  return !diagnostics.has_errors();
}

std::string mutated(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  static const std::vector<std::string> kPieces = {"-1", "1e308", "9223372036854775807", "null", "\"\"", "[]", "{}", "true",
                                                   "\"0 GB/s\"", "\"1e30 GB/s\"", "0", "\"-5 us\"", "{\"base\": 3}", "\"\\u0000\""};
  for (std::size_t n = 1 + below(3); n > 0; --n) {
    const std::size_t at = below(text.size());
    switch (below(5)) {
      case 0: text.resize(at + 1); break;
      case 1: text[at] = static_cast<char>(below(256)); break;
      case 2: text.insert(at, kPieces[below(kPieces.size())]); break;
      case 3: text.erase(at, 1 + below(20)); break;
      default: {  // replace a value: from the next ':' to the next ',' or '}'
        const std::size_t colon = text.find(':', at), end = text.find_first_of(",}", colon == std::string::npos ? at : colon);
        if (colon != std::string::npos && end != std::string::npos)
          text.replace(colon + 1, end - colon - 1, kPieces[below(kPieces.size())]);
      }
    }
    if (text.empty()) text = "x";
  }
  return text;
}

void fuzz(const std::string& file, bool gpu, int rounds) {
  const std::string text = read_source(data_root() + "/" + file)->text;
  ASSERT_TRUE(survives(text, gpu)) << file;
  std::mt19937 random(20240229);
  int accepted = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::string damaged = mutated(text, random);
    EXPECT_NO_THROW(accepted += survives(damaged, gpu) ? 1 : 0) << damaged;
  }
  EXPECT_LT(accepted, rounds);  // most damage is found
}

TEST(ReaderFuzz, Gpu) { fuzz("hardware/gpus/a100-sxm4-80gb.json", true, 4000); }
TEST(ReaderFuzz, Cluster) { fuzz("hardware/clusters/dgx-h100.json", false, 2000); }
TEST(ReaderFuzz, ClusterWithBase) { fuzz("hardware/clusters/llama3-h100-2048x8.json", false, 2000); }
TEST(ReaderFuzz, Graph) { fuzz("hardware/clusters/a100-nv4-4.json", false, 2000); }

TEST(ReaderFuzz, EveryPrefixOfAFile) {
  const std::string text = read_source(data_root() + "/hardware/clusters/dgx-1-v100.json")->text;
  for (std::size_t length = 0; length + 3 < text.size(); ++length)
    EXPECT_FALSE(survives(text.substr(0, length), false)) << length;
}

}  // namespace
}  // namespace orrery::hardware
