// Training data: the same tokens for the same key whatever else is asked, all of a text, and a pattern that is as
// hard as it says.
#include "runtime/data/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <vector>

#include "base/diagnostics.h"

namespace orrery::runtime {
namespace {

using testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

class TextFile {
 public:
  explicit TextFile(const std::string& text)
      : path_(testing::TempDir() + "orrery_text_" + std::to_string(::getpid()) + ".txt") {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TextFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Tokens sequence(const TokenSource& source, SequenceKey key, std::size_t length) {
  Tokens tokens(length);
  source.fill(key, tokens);
  return tokens;
}

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(TextTokens, AreStretchesOfTheFileThatWrapAround) {
  const std::string text = "0123456789";
  const TextFile file(text);
  const auto source = text_tokens(file.path(), 256, 1);
  std::set<std::int32_t> starts;
  for (std::int64_t i = 0; i < 100; ++i) {
    const Tokens tokens = sequence(*source, {3, i}, 25);
    starts.insert(tokens[0]);
    for (std::size_t p = 0; p < tokens.size(); ++p)
      ASSERT_EQ(tokens[p], text[(static_cast<std::size_t>(tokens[0] - '0') + p) % text.size()]) << i << ", " << p;
  }
  EXPECT_EQ(starts.size(), text.size()) << "every position begins some sequence";
}

TEST(TextTokens, TakeAnyByteAndATextOfOne) {
  const TextFile file("\xff");
  EXPECT_EQ(sequence(*text_tokens(file.path(), 300, 1), {0, 0}, 3), (Tokens{255, 255, 255}));
}

TEST(TextTokens, DependOnSeedStepAndSequenceAlone) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 7919 % 251);
  const TextFile file(text);
  const auto one = text_tokens(file.path(), 256, 1), again = text_tokens(file.path(), 256, 1);
  const auto other = text_tokens(file.path(), 256, 2);
  const Tokens first = sequence(*one, {5, 6}, 64);
  EXPECT_EQ(sequence(*again, {5, 6}, 64), first);
  EXPECT_NE(sequence(*one, {6, 6}, 64), first);
  EXPECT_NE(sequence(*one, {5, 7}, 64), first);
  EXPECT_NE(sequence(*other, {5, 6}, 64), first);
  EXPECT_EQ(sequence(*one, {5, 6}, 10), Tokens(first.begin(), first.begin() + 10)) << "whatever the length";
}

TEST(TextTokens, FingerprintTellsTextsApart) {
  const auto fingerprint = [](const std::string& text) {
    const TextFile file(text);
    return text_tokens(file.path(), 256, 1)->fingerprint();
  };
  EXPECT_EQ(fingerprint("abc"), fingerprint("abc"));
  EXPECT_NE(fingerprint("abc"), fingerprint("acb"));
  EXPECT_NE(fingerprint("abc"), fingerprint(std::string("abc\0", 4)));
}

TEST(TextTokens, SayWhatIsWrongWithAFile) {
  const TextFile empty("");
  EXPECT_THAT(error_of([&] { text_tokens(empty.path(), 256, 1); }), HasSubstr("is empty"));
  EXPECT_THAT(error_of([] { text_tokens("no/such/file.txt", 256, 1); }),
              HasSubstr("no/such/file.txt: error: cannot be read"));
  EXPECT_THAT(error_of([] { text_tokens("docs", 256, 1); }), HasSubstr("is a directory"));
  EXPECT_THAT(error_of([] { text_tokens("/dev/zero", 256, 1); }), HasSubstr("/dev/zero: error: is no ordinary file"));
  EXPECT_THAT(error_of([&] { text_tokens(empty.path(), 255, 1); }),
              HasSubstr("set the model's vocab to 256 or more"));
}

TEST(PatternTokens, StayWithinTheVocabularyAndOneRule) {
  for (const std::int64_t vocab : {8, 20, 32, 64, 50257}) {
    const auto source = pattern_tokens(vocab, 3);
    const std::int32_t block = vocab >= 64 ? 16 : vocab >= 32 ? 8 : vocab >= 16 ? 4 : 2;
    std::set<std::int32_t> rules, tokens;
    for (std::int64_t i = 0; i < 64; ++i) {
      const Tokens s = sequence(*source, {0, i}, 40);
      for (const std::int32_t token : s) {
        ASSERT_GE(token, 0);
        ASSERT_LT(token, vocab);
        EXPECT_EQ(token / block, s[0] / block) << "a sequence follows one rule";
        tokens.insert(token);
      }
      rules.insert(s[0] / block);
    }
    EXPECT_EQ(rules.size(), 4U) << vocab;
    EXPECT_EQ(tokens.size(), 4U * static_cast<std::size_t>(block)) << "every token of every rule is met";
  }
  EXPECT_THAT(error_of([] { pattern_tokens(7, 1); }), HasSubstr("vocabulary is 7"));
}

TEST(PatternTokens, DependOnSeedStepAndSequenceAlone) {
  const auto one = pattern_tokens(64, 1), again = pattern_tokens(64, 1), other = pattern_tokens(64, 2);
  const Tokens first = sequence(*one, {5, 6}, 33);
  EXPECT_EQ(sequence(*again, {5, 6}, 33), first);
  EXPECT_NE(sequence(*one, {6, 6}, 33), first);
  EXPECT_NE(sequence(*one, {5, 7}, 33), first);
  EXPECT_NE(sequence(*other, {5, 6}, 33), first);
  EXPECT_EQ(sequence(*one, {5, 6}, 10), Tokens(first.begin(), first.begin() + 10)) << "whatever the length";
  EXPECT_NE(one->fingerprint(), other->fingerprint());
  EXPECT_NE(one->fingerprint(), pattern_tokens(32, 1)->fingerprint());
}

// The conditional entropy of a token given the one before, from counts over many sequences.
TEST(PatternTokens, AreAsHardAsTheirEntropyFloor) {
  for (const std::int64_t vocab : {8, 32, 64}) {
    const auto source = pattern_tokens(vocab, 1);
    std::map<std::pair<std::int32_t, std::int32_t>, double> pairs;
    std::map<std::int32_t, double> firsts;
    double all = 0.0;
    for (std::int64_t i = 0; i < 2000; ++i) {
      const Tokens s = sequence(*source, {i, 0}, 129);
      for (std::size_t p = 0; p + 1 < s.size(); ++p) ++pairs[{s[p], s[p + 1]}], ++firsts[s[p]], ++all;
    }
    double entropy = 0.0;
    for (const auto& [pair, count] : pairs) entropy -= count / all * std::log(count / firsts[pair.first]);
    EXPECT_NEAR(entropy, source->entropy_floor(), 0.01) << vocab;
  }
  EXPECT_NEAR(pattern_tokens(64, 1)->entropy_floor(), 0.3817, 1e-4);
}

// The plainest learner there is, a table of logits by present token trained by gradient descent, 8 sequences of 32 a
// step: what a transformer's embedding and head alone can do.
TEST(PatternTokens, AreLearntInTensOfSteps) {
  constexpr std::size_t kVocab = 64;
  const auto source = pattern_tokens(kVocab, 1);
  std::vector<std::vector<double>> logits(kVocab, std::vector<double>(kVocab, 0.0));
  std::vector<double> losses;
  for (std::int64_t step = 0; step < 60; ++step) {
    std::vector<std::vector<double>> gradient = logits;
    for (auto& row : gradient) std::fill(row.begin(), row.end(), 0.0);
    double loss = 0.0;
    for (std::int64_t i = 0; i < 8; ++i) {
      const Tokens s = sequence(*source, {step, i}, 33);
      for (std::size_t p = 0; p < 32; ++p) {
        const auto x = static_cast<std::size_t>(s[p]), y = static_cast<std::size_t>(s[p + 1]);
        double sum = 0.0;
        for (const double l : logits[x]) sum += std::exp(l);
        for (std::size_t c = 0; c < kVocab; ++c)
          gradient[x][c] += std::exp(logits[x][c]) / sum - (c == y ? 1.0 : 0.0);
        loss += (std::log(sum) - logits[x][y]) / 256.0;
      }
    }
    for (std::size_t x = 0; x < kVocab; ++x)
      for (std::size_t c = 0; c < kVocab; ++c) logits[x][c] -= 1.0 * gradient[x][c];
    losses.push_back(loss);
  }
  EXPECT_NEAR(losses.front(), std::log(64.0), 1e-9);
  const double last = (losses[57] + losses[58] + losses[59]) / 3.0;
  EXPECT_LT(last, 1.0);
  EXPECT_GT(last, source->entropy_floor());
}

TEST(Microbatch, HasPositionsOutermostAndTheNextTokenAsLabel) {
  const auto source = pattern_tokens(64, 1);
  Tokens tokens(2 * 3), labels(2 * 3);
  fill_microbatch(*source, {.step = 4, .first_sequence = 10, .batch = 2, .length = 3}, tokens, labels);
  for (std::size_t j = 0; j < 2; ++j) {
    const Tokens s = sequence(*source, {4, 10 + static_cast<std::int64_t>(j)}, 4);
    for (std::size_t p = 0; p < 3; ++p) {
      EXPECT_EQ(tokens[p * 2 + j], s[p]);
      EXPECT_EQ(labels[p * 2 + j], s[p + 1]);
    }
  }
}

// Two data-parallel ranks of two microbatches each read what one rank reads as one microbatch.
TEST(Microbatch, CutsABatchWithoutChangingIt) {
  const auto source = pattern_tokens(64, 1);
  Tokens whole(8 * 5), labels(8 * 5);
  fill_microbatch(*source, {.step = 2, .first_sequence = 0, .batch = 8, .length = 5}, whole, labels);
  for (std::int64_t part = 0; part < 4; ++part) {
    Tokens tokens(2 * 5), next(2 * 5);
    fill_microbatch(*source, {.step = 2, .first_sequence = 2 * part, .batch = 2, .length = 5}, tokens, next);
    for (std::size_t p = 0; p < 5; ++p)
      for (std::size_t j = 0; j < 2; ++j) {
        const std::size_t at = p * 8 + static_cast<std::size_t>(part) * 2 + j;
        EXPECT_EQ(tokens[p * 2 + j], whole[at]);
        EXPECT_EQ(next[p * 2 + j], labels[at]);
      }
  }
}

}  // namespace
}  // namespace orrery::runtime
