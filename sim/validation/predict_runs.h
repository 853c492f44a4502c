// Predicts published runs, on several threads.
#pragma once

#include <functional>
#include <vector>

#include "sim/validation/run_errors.h"

namespace orrery::sim {

// In the order of `runs`, which must outlive the result. `done` is called after each, by one thread at a time. Throws what the first
// prediction that fails throws, with the run's name.
std::vector<RunError> predict_runs(const std::vector<PublishedRun>& runs, unsigned threads, const std::function<void()>& done);

}  // namespace orrery::sim
