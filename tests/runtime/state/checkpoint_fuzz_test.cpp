// Manifests and rank files' headers, mutated, with checksums that fit: whatever they say, loading succeeds or is an
// InputError. Nothing else: no crash, no other exception, no memory taken that the files have not.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <filesystem>

#include "base/diagnostics.h"
#include "runtime/state/checksum.h"
#include "tests/fuzz/mutator.h"
#include "tests/runtime/state/saved_jobs.h"

namespace orrery::runtime {
namespace {

constexpr std::size_t kPrefix = 24;

// A rank file with another header; the elements stay.
std::string with_header(const std::string& file, std::size_t old_header, const std::string& header) {
  std::string prefix = file.substr(0, kPrefix);
  const std::uint32_t checksum = crc32c(std::as_bytes(std::span(header)));
  const std::uint64_t length = header.size();
  std::memcpy(prefix.data() + 12, &checksum, sizeof(checksum));
  std::memcpy(prefix.data() + 16, &length, sizeof(length));
  return prefix + header + file.substr(kPrefix + old_header);
}

class CheckpointFuzz : public testing::TestWithParam<std::uint64_t> {
 protected:
  CheckpointFuzz()
      : saved_(compile_plan(model(), "TP2 DP3 ZeRO-3")), same_(compile_plan(model(), "TP2 DP3 ZeRO-3")),
        other_(compile_plan(model(), "PP2 DP2 ZeRO-1 compressed")) {
    put_trained_state(saved_);
    path_ = save_job(saved_, directory_.path(), 3, {.piece_bytes = 400});
  }
  static models::Architecture model() {
    models::Architecture a = state_models()[1];
    a.layers = 2;
    a.hidden = a.ffn_hidden = 8;
    return a;
  }
  // Loads under the same plan and another one. True where both load.
  bool loads() {
    bool all = true;
    for (Job* job : {&same_, &other_}) {
      try {
        load_job(*job, path_);
      } catch (const InputError& error) {
        EXPECT_STRNE(error.what(), "");
        all = false;
      } catch (const std::exception& error) {
        ADD_FAILURE() << "not an InputError: " << error.what();
      }
    }
    return all;
  }
  CheckpointDirectory directory_;
  Job saved_, same_, other_;
  std::string path_;
};

TEST_P(CheckpointFuzz, ManifestsAreDiagnosed) {
  const std::string path = path_ + "/manifest.json", sound = read_text(path);
  int refused = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    SCOPED_TRACE(GetParam() * 60 + i);
    write_text(path, with_checksum(test::Mutator(GetParam() * 60 + i).mutate(sound)));
    refused += loads() ? 0 : 1;
  }
  EXPECT_GT(refused, 30) << "most damage is found";
  write_text(path, sound);
  EXPECT_TRUE(loads());
}

TEST_P(CheckpointFuzz, HeadersAreDiagnosed) {
  const std::string path = path_ + "/rank-00002.bin", manifest_path = path_ + "/manifest.json";
  const std::string sound = read_text(path), manifest = read_text(manifest_path);
  std::uint64_t length = 0;
  std::memcpy(&length, sound.data() + 16, sizeof(length));
  const std::string header = sound.substr(kPrefix, length);
  const Manifest contents = read_manifest(manifest_path);
  int refused = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    SCOPED_TRACE(GetParam() * 60 + i);
    const std::string changed = test::Mutator(GetParam() * 60 + i).mutate(header);
    const std::string file = with_header(sound, header.size(), changed);
    write_text(path, file);
    Manifest fitting = contents;
    fitting.files[2].bytes = static_cast<std::int64_t>(file.size());
    fitting.files[2].header_checksum = crc32c(std::as_bytes(std::span(changed)));
    write_text(manifest_path, manifest_text(fitting));
    refused += loads() ? 0 : 1;
  }
  EXPECT_GT(refused, 30) << "most damage is found";
  write_text(path, sound);
  write_text(manifest_path, manifest);
  EXPECT_TRUE(loads());
}

INSTANTIATE_TEST_SUITE_P(Seeds, CheckpointFuzz, testing::Range<std::uint64_t>(0, 4));

}  // namespace
}  // namespace orrery::runtime
