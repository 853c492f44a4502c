// The order matters: dp before the batch, chunks before stages.
#include "scenarios/solve.h"

namespace orrery::scenarios {

const std::vector<Rule>& solving_rules() {
  static const std::vector<Rule> rules = {
      {"world", "tp x cp x pp x dp is the number of GPUs; \"auto\" dp is solved", kClusterKnown | kParallelKnown,
       kWorldKnown, solve_world},
      {"context", "ulysses is cp, or 1, or with hybrid between them and a divisor of cp", kParallelKnown, kContextKnown,
       solve_context},
      {"batch", "global_batch = micro_batch x accumulation x dp; any one of the three is solved",
       kTrainingKnown | kDpKnown, kBatchKnown, solve_batch},
      {"chunks", "vpp > 1 goes with the interleaved schedule and pp > 1, and only so",
       kModelKnown | kParallelKnown, kChunksKnown, solve_chunks},
      {"stages", "the layers divide over pp x vpp virtual stages, or are listed, and none is lost",
       kModelKnown | kParallelKnown | kChunksKnown, kStagesKnown, split_layers},
  };
  return rules;
}

}  // namespace orrery::scenarios
