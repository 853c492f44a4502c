// Affine rules with a little noise. p = probability of the rule's own next token = (1 - e) + e/m, of each other one
// e/m; entropy floor = -p ln p - (m - 1) (e/m) ln(e/m).
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/diagnostics.h"
#include "base/random.h"
#include "runtime/data/tokens.h"

namespace orrery::runtime {
namespace {

constexpr std::uint64_t kRules = 4;
constexpr std::uint64_t kMostTokens = 16;  // of a rule
constexpr std::uint64_t kNoiseEvery = 16;  // one token in so many is drawn

struct Rule {
  std::uint64_t a = 1, b = 1;
};

class PatternTokens final : public TokenSource {
 public:
  PatternTokens(std::int64_t vocab, std::int64_t seed) : seed_(static_cast<std::uint64_t>(seed)) {
    while (tokens_ < kMostTokens && 2 * tokens_ * kRules <= static_cast<std::uint64_t>(vocab)) tokens_ *= 2;
    const RandomStream draws({.seed = seed_, .purpose = DrawPurpose::data, .step = 0, .layer = kOfRules});
    for (std::uint64_t r = 0; r < kRules; ++r)
      rules_[r] = {.a = 1 + 4 * draws.below(2 * r, kMostTokens), .b = 1 + 2 * draws.below(2 * r + 1, kMostTokens)};
  }
  void fill(SequenceKey key, std::span<std::int32_t> tokens) const override {
    const RandomStream draws({.seed = seed_,
                              .purpose = DrawPurpose::data,
                              .step = static_cast<std::uint64_t>(key.step),
                              .layer = kOfTokens,
                              .microbatch = static_cast<std::uint64_t>(key.sequence)});
    const std::uint64_t rule = draws.below(0, kRules);
    std::uint64_t x = draws.below(1, tokens_);
    for (std::size_t p = 0; p < tokens.size(); ++p) {
      const bool noise = draws.below(2 * p + 2, kNoiseEvery) == 0;
      if (p > 0) x = noise ? draws.below(2 * p + 3, tokens_) : (rules_[rule].a * x + rules_[rule].b) % tokens_;
      tokens[p] = static_cast<std::int32_t>(rule * tokens_ + x);
    }
  }
  std::string description() const override {
    return fmt::format("pattern of {} rules over {} tokens", kRules, tokens_);
  }
  std::uint64_t fingerprint() const override { return mix_bits(seed_ * (2 * kMostTokens) + tokens_); }
  double entropy_floor() const override {
    const auto m = static_cast<double>(tokens_);
    const double other = 1.0 / static_cast<double>(kNoiseEvery) / m;
    const double own = 1.0 - (m - 1.0) * other;
    return -own * std::log(own) - (m - 1.0) * other * std::log(other);
  }

 private:
  static constexpr std::uint64_t kOfTokens = 1, kOfRules = 2;  // keep the draws of texts, tokens and rules apart
  std::uint64_t seed_;
  std::uint64_t tokens_ = 2;
  std::array<Rule, kRules> rules_;
};

}  // namespace

std::unique_ptr<TokenSource> pattern_tokens(std::int64_t vocab, std::int64_t seed) {
  constexpr std::int64_t kLeast = 2 * static_cast<std::int64_t>(kRules);
  if (vocab < kLeast)
    throw InputError(
        fmt::format("error: the pattern has {} tokens at least, and the model's vocabulary is {}\n"
                    "  hint: set the model's vocab to {} or more\n",
                    kLeast, vocab, kLeast));
  return std::make_unique<PatternTokens>(vocab, seed);
}

}  // namespace orrery::runtime
