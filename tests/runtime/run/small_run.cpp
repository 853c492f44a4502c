#include "tests/runtime/run/small_run.h"

#include "base/check.h"
#include "schedule/compile.h"
#include "tests/interpreter/plan_run.h"
#include "tests/interpreter/tiny_models.h"

namespace orrery::runtime {

scenarios::Scenario two_stages() {
  scenarios::Scenario s = interpreter::plain_scenario(interpreter::tiny_gpt());
  s.model.layers = 4;
  s.training.micro_batch = 1;
  s.parallel.pp = 2;
  interpreter::resolve(s);
  return s;
}

SmallRun::SmallRun(const scenarios::Scenario& scenario, const RunOptions& options)
    : schedule(schedule::compile(scenario)),
      tokens(pattern_tokens(schedule.model.vocab, schedule.hyper.seed)),
      job{&schedule, tokens.get(), schedule::fingerprint(schedule), options, "test"} {}

RunResult SmallRun::run(const std::function<RankHooks(int)>& hooks) {
  return run_as_threads(job, stop, {.no_progress_s = 20.0}, hooks,
                        [](const std::string& message, const RunResult&) { throw InternalError(message); });
}

}  // namespace orrery::runtime
