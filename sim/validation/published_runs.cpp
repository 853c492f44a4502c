#include "sim/validation/published_runs.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "base/directories.h"
#include "base/json.h"
#include "base/object_reader.h"

namespace orrery::sim {
namespace {

// From the first of the measured rates that the scenario states.
std::optional<double> measured_step_time(const scenarios::Scenario& s) {
  const scenarios::Measured& m = *s.measured;
  const auto batch = static_cast<double>(s.training.global_batch);
  const double tokens = batch * static_cast<double>(s.training.sequence_length);
  if (m.step_time_s) return *m.step_time_s;
  if (m.samples_per_s) return batch / *m.samples_per_s;
  if (m.tokens_per_s_per_gpu) return tokens / *m.tokens_per_s_per_gpu / static_cast<double>(s.parallel.world());
  return std::nullopt;
}

class Reader {
 public:
  explicit Reader(Diagnostics& diagnostics) : diagnostics_(diagnostics) {}

  void file(const std::filesystem::path& path) {
    const Json json = read_json(path.string());
    if (json.find("runs") == nullptr) return;
    ObjectReader r(json, diagnostics_, "runs of one source");
    const Json& list = r.required("runs");
    r.finish();
    if (!list.is_array()) {
      diagnostics_.error(list.place, "a list of runs is expected here, and this is " + std::string(kind_name(list.kind)));
      return;
    }
    for (const Json& item : list.items) run(item, path.stem().string());
  }
  std::vector<PublishedRun> take() { return std::move(runs_); }

 private:
  void run(const Json& json, const std::string& source) {
    ObjectReader r(json, diagnostics_, "a run");
    PublishedRun run;
    run.source = source;
    run.framework = r.text("framework", std::nullopt);
    run.date = r.text("date", "");
    run.level = r.choice<std::string>("level", "full", {{"full", "full"}, {"near", "near"}, {"partial", "partial"}});
    const Json& scenario = r.required("scenario");
    r.finish();
    if (!scenario.is_object()) return;
    Diagnostics found;  // warnings are for who writes a scenario, not for who counts hundreds
    run.scenario = scenarios::resolve_scenario(scenario, found);
    for (const Diagnostic& each : found.all())
      if (each.severity == Severity::error) diagnostics_.error(each.place, each.message, each.hint);
    if (found.has_errors()) return;
    run.id = run.scenario.name;
    const std::optional<double> time =
        run.scenario.measured ? measured_step_time(run.scenario) : std::optional<double>();
    if (!time || !(*time > 0.0)) {
      diagnostics_.error(scenario.place, "no step time, samples/s or tokens/s is measured in this run");
      return;
    }
    run.step_time_s = *time;
    run.memory_bytes = run.scenario.measured->peak_memory_bytes.value_or(0.0);
    runs_.push_back(std::move(run));
  }

  Diagnostics& diagnostics_;
  std::vector<PublishedRun> runs_;
};

}  // namespace

std::vector<PublishedRun> read_published_runs(const std::string& directory) {
  Diagnostics diagnostics;
  Reader reader(diagnostics);
  for (const std::filesystem::path& path : files_in(directory, ".json")) reader.file(path);
  diagnostics.throw_if_errors();
  return reader.take();
}

}  // namespace orrery::sim
