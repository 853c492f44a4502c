// Training data: token ids as a pure function of (seed, step, global sequence, position), so that every plan,
// whatever it cuts the batch into, and every resumed run sees the same batches. The label of a position is the token
// behind it.
//
// Two sources:
//  - text: the bytes of any file (vocabulary 256). Each sequence starts at a position drawn from the seed; the end is
//    followed by the beginning.
//  - a pattern that a tiny model learns in tens of steps: see pattern_tokens.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "schedule/positions.h"

namespace orrery::runtime {

struct SequenceKey {
  std::int64_t step = 0;
  std::int64_t sequence = 0;  // of the global batch
};

class TokenSource {
 public:
  virtual ~TokenSource() = default;
  // Tokens 0, 1, ... of one sequence.
  virtual void fill(SequenceKey key, std::span<std::int32_t> tokens) const = 0;
  virtual std::string description() const = 0;    // for people and checkpoints
  virtual std::uint64_t fingerprint() const = 0;  // of what the tokens depend on besides the key
  // The loss (nats a token) below which no model can come in the mean; 0 where it is not known.
  virtual double entropy_floor() const = 0;
  // How many different tokens there are before they repeat; unbounded where they are generated.
  virtual std::int64_t size() const { return std::numeric_limits<std::int64_t>::max(); }
};

// Throws InputError for a file that cannot be read or is empty, or a model's vocabulary below 256.
std::unique_ptr<TokenSource> text_tokens(const std::string& path, std::int64_t vocab, std::int64_t seed);

// Four rules, each with m tokens of its own (m = 2, 4, 8 or 16, as many as the vocabulary has room for): a sequence
// follows one of them, next = (a x + b) mod m within the rule's tokens, where a = 1 mod 4 and b odd are drawn from
// the seed, so that each rule runs through all its tokens (Hull and Dobell 1962). One token in 16 is drawn instead,
// uniformly from the rule's. So the next token depends on the present one alone, and no model's mean loss is below
// the entropy of that choice, 0.38 nats at m = 16. Throws InputError for a vocabulary below 8.
std::unique_ptr<TokenSource> pattern_tokens(std::int64_t vocab, std::int64_t seed);

// One microbatch as the ops see it: row = position * batch + sequence ("s b h").
struct MicrobatchKey {
  std::int64_t step = 0;
  std::int64_t first_sequence = 0;  // (data index * microbatches + microbatch) * batch
  std::int64_t batch = 1;           // sequences
  std::int64_t length = 1;          // positions of a sequence
  // Where the rows are a part of each sequence: which positions, in which order; empty: all of them.
  std::span<const schedule::PositionRun> positions{};
};
// Both of batch * positions elements.
void fill_microbatch(const TokenSource& source, const MicrobatchKey& key, std::span<std::int32_t> tokens,
                     std::span<std::int32_t> labels);

}  // namespace orrery::runtime
