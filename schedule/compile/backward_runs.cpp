#include "schedule/compile/backward_runs.h"

namespace orrery::schedule {

std::vector<BackwardRun> backward_runs(const Stage& s, std::uint32_t chunk) {
  const std::uint32_t recomputed = s.recomputed_layers(chunk);
  const auto every = static_cast<std::uint32_t>(s.scenario.training.recompute_every);
  std::vector<BackwardRun> runs;
  for (auto end = static_cast<std::uint32_t>(s.layers_of_chunk[chunk]); end > 0; end = runs.back().begin) {
    const bool again = end <= recomputed;
    runs.push_back({again ? (end - 1) / every * every : end - 1, end, again});
  }
  return runs;
}

}  // namespace orrery::schedule
