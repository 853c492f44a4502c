// Errors of published runs, for people, for programs and for docs/accuracy.md.
#pragma once

#include <string>
#include <vector>

#include "sim/validation/run_errors.h"

namespace orrery::sim {

// The tables by source, GPU, framework, parallelism and size, of step times and of memory, then the worst runs, each with what
// its step is made of.
std::string accuracy_text(const std::vector<RunError>& errors, std::size_t worst = 10);

// A line a run: measured, predicted, error, interval.
std::string accuracy_csv(const std::vector<RunError>& errors);

// The same tables as Markdown. Numbers are rounded, so that the text changes only when predictions do.
std::string accuracy_markdown(const std::vector<RunError>& errors);

}  // namespace orrery::sim
