#include "sim/commands/validate_published.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "base/check.h"
#include "base/data_root.h"
#include "sim/report/progress.h"
#include "sim/validation/accuracy_report.h"
#include "sim/validation/predict_runs.h"
#include "sim/validation/published_runs.h"

namespace orrery::sim {
int validate_published(const ValidatePublishedOptions& o, Output& out) {
  const std::string found = find_file(o.directory, nullptr);
  const std::vector<PublishedRun> runs = read_published_runs(found.empty() ? o.directory : found);
  if (runs.empty())
    throw InputError(fmt::format("{}: error: no file of measured runs is in this directory\n  hint: a file of runs is "
                                 "{{\"runs\": [...]}}, as validation/runs has them; scenarios to be performed need --execute\n",
                                 o.directory));
  Progress progress("validate", static_cast<std::int64_t>(runs.size()));
  const std::vector<RunError> errors =
      predict_runs(runs, o.threads != 0 ? o.threads : std::max(1U, std::thread::hardware_concurrency()), [&] { progress.advance(); });
  out.write(o.markdown ? accuracy_markdown(errors) : accuracy_text(errors, o.worst));
  if (!o.output.empty()) {
    std::ofstream file(o.output, std::ios::binary);
    file << accuracy_csv(errors);
    file.close();
    if (!file) throw WorldError(fmt::format("{}: writing it failed", o.output));
  }
  return 0;
}

}  // namespace orrery::sim
