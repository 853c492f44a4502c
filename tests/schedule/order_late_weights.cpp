// 1F1B with the weight gradients last: nobody waits for them, so they fill the time behind the pipeline's drain. Every
// microbatch's inputs are kept to the end. The example of docs/adding-a-schedule.md.
#include "schedule/compile/action_list.h"

namespace orrery::schedule {

Order late_weights_order(const PipelineShape& shape, std::int64_t rank) {
  const std::int64_t m = shape.microbatches;
  ActionList a(m);
  for (std::int64_t i = 0; i < shape.stages - rank - 1; ++i) a.forward();
  while (a.forwards() < m) {
    a.forward();
    a.input();
  }
  for (std::int64_t i = 0; i < m; ++i) a.input();
  while (!a.complete()) a.weight();
  return a.take();
}

}  // namespace orrery::schedule
