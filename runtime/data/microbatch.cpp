// From whole sequences to the rows of a microbatch.
#include <vector>

#include "base/check.h"
#include "runtime/data/tokens.h"

namespace orrery::runtime {

void fill_microbatch(const TokenSource& source, const MicrobatchKey& key, std::span<std::int32_t> tokens,
                     std::span<std::int32_t> labels) {
  const auto batch = static_cast<std::size_t>(key.batch), length = static_cast<std::size_t>(key.length);
  CHECK(tokens.size() == batch * length && labels.size() == batch * length, tokens.size(), labels.size(), batch,
        length);
  std::vector<std::int32_t> sequence(length + 1);
  for (std::size_t j = 0; j < batch; ++j) {
    source.fill({key.step, key.first_sequence + static_cast<std::int64_t>(j)}, sequence);
    for (std::size_t p = 0; p < length; ++p) {
      tokens[p * batch + j] = sequence[p];
      labels[p * batch + j] = sequence[p + 1];
    }
  }
}

}  // namespace orrery::runtime
