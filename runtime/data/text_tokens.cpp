// The bytes of a file, held in memory.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/random.h"
#include "runtime/data/tokens.h"

namespace orrery::runtime {
namespace {

constexpr std::int64_t kByteVocabulary = 256;

std::vector<unsigned char> read_bytes(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw InputError(fmt::format("{}: error: is a directory; the training text is one file\n", path));
  // A device or a pipe has no end, or none that can be read twice.
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    throw InputError(fmt::format("{}: error: is no ordinary file\n", path));
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(fmt::format("{}: error: cannot be read: {}\n", path, std::strerror(errno)));
  std::vector<unsigned char> bytes;
  std::vector<char> block(std::size_t{1} << 20);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())), file.gcount() > 0)
    bytes.insert(bytes.end(), block.begin(), block.begin() + file.gcount());
  if (file.bad()) throw InputError(fmt::format("{}: error: cannot be read to its end\n", path));
  if (bytes.empty()) throw InputError(fmt::format("{}: error: is empty; there is nothing to train on\n", path));
  return bytes;
}

class TextTokens final : public TokenSource {
 public:
  TextTokens(std::string path, std::vector<unsigned char> bytes, std::int64_t seed)
      : path_(std::move(path)), bytes_(std::move(bytes)), seed_(static_cast<std::uint64_t>(seed)) {
    fingerprint_ = mix_bits(bytes_.size());
    for (const unsigned char byte : bytes_) fingerprint_ = mix_bits(fingerprint_ + byte + 1);
  }
  void fill(SequenceKey key, std::span<std::int32_t> tokens) const override {
    const RandomStream stream({.seed = seed_,
                               .purpose = DrawPurpose::data,
                               .step = static_cast<std::uint64_t>(key.step),
                               .layer = 0,
                               .microbatch = static_cast<std::uint64_t>(key.sequence)});
    std::size_t at = stream.below(0, bytes_.size());
    for (std::int32_t& token : tokens) {
      token = bytes_[at];
      at = at + 1 == bytes_.size() ? 0 : at + 1;
    }
  }
  std::string description() const override { return fmt::format("{} ({} bytes)", path_, bytes_.size()); }
  std::uint64_t fingerprint() const override { return fingerprint_; }
  double entropy_floor() const override { return 0.0; }
  std::int64_t size() const override { return static_cast<std::int64_t>(bytes_.size()); }

 private:
  std::string path_;
  std::vector<unsigned char> bytes_;
  std::uint64_t seed_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace

std::unique_ptr<TokenSource> text_tokens(const std::string& path, std::int64_t vocab, std::int64_t seed) {
  if (vocab < kByteVocabulary)
    throw InputError(
        fmt::format("{}: error: text is read as bytes, and the model's vocabulary of {} has no room for {}\n"
                    "  hint: set the model's vocab to {} or more, or train on the generated pattern\n",
                    path, vocab, kByteVocabulary, kByteVocabulary));
  return std::make_unique<TextTokens>(path, read_bytes(path), seed);
}

}  // namespace orrery::runtime
