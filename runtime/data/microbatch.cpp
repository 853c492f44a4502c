// From whole sequences to the rows of a microbatch.
#include <vector>

#include "base/check.h"
#include "runtime/data/tokens.h"

namespace orrery::runtime {

void fill_microbatch(const TokenSource& source, const MicrobatchKey& key, std::span<std::int32_t> tokens,
                     std::span<std::int32_t> labels) {
  const auto batch = static_cast<std::size_t>(key.batch), length = static_cast<std::size_t>(key.length);
  const schedule::PositionRun all{0, key.length, 0};
  const std::span<const schedule::PositionRun> runs = key.positions.empty() ? std::span(&all, 1) : key.positions;
  std::size_t here = 0;
  for (const schedule::PositionRun& run : runs) here += static_cast<std::size_t>(run.count);
  CHECK(tokens.size() == batch * here && labels.size() == batch * here, tokens.size(), labels.size(), batch, here);
  std::vector<std::int32_t> sequence(length + 1);
  for (std::size_t j = 0; j < batch; ++j) {
    source.fill({key.step, key.first_sequence + static_cast<std::int64_t>(j)}, sequence);
    for (const schedule::PositionRun& run : runs)
      for (std::int64_t i = 0; i < run.count; ++i) {
        const auto row = static_cast<std::size_t>(run.row + i), position = static_cast<std::size_t>(run.position + i);
        tokens[row * batch + j] = sequence[position];
        labels[row * batch + j] = sequence[position + 1];
      }
  }
}

}  // namespace orrery::runtime
