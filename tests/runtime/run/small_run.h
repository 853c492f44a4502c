// A small job to be run by a test that looks at more than what it learns.
#pragma once

#include <functional>
#include <memory>

#include "runtime/run/thread_run.h"
#include "scenarios/scenario.h"

namespace orrery::runtime {

// Four layers of a tiny GPT on two pipeline stages, whose programs have different numbers of ops.
scenarios::Scenario two_stages();

struct SmallRun {
  explicit SmallRun(const scenarios::Scenario& scenario, const RunOptions& options = {});
  // As threads; a stall fails the test.
  RunResult run(const std::function<RankHooks(int)>& hooks = [](int) { return RankHooks{}; });

  schedule::Schedule schedule;
  std::unique_ptr<TokenSource> tokens;
  RunJob job;
  StopSign stop;
};

}  // namespace orrery::runtime
