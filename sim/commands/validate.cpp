// `validate` holds predictions against measurements: against published ones (validate_published.h), or with --execute against
// the machine at hand. Then it calibrates it, or takes a calibrated cluster, predicts each scenario, performs it right afterwards
// (machines drift), and keeps what both said side by side.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/check.h"
#include "base/child_process.h"
#include "base/data_root.h"
#include "base/directories.h"
#include "base/option_values.h"
#include "base/quantile.h"
#include "hardware/kernel_table.h"
#include "hardware/reservations.h"
#include "scenarios/load.h"
#include "schedule/compile.h"
#include "schedule/trace_check.h"
#include "schedule/trace_file.h"
#include "sim/commands/command.h"
#include "sim/commands/csv_text.h"
#include "sim/commands/runtime_program.h"
#include "sim/commands/scenario_files.h"
#include "sim/commands/validate_published.h"
#include "sim/metrics/simulated_trace.h"
#include "sim/metrics/trace_comparison.h"
#include "sim/report/progress.h"

namespace orrery::sim {
namespace {

namespace fs = std::filesystem;

struct ValidateOptions {
  bool execute = false, quick = false;
  std::string directory, cluster, output;
  std::int64_t steps = 12;
  double most_error_percent = 0.0;
  bool markdown = false;
  std::size_t worst = 10;
  unsigned threads = 0;
};

struct Row {
  std::string name;
  bool calibrated = false;
  double predicted_s = 0.0, measured_s = 0.0, p10_s = 0.0, p90_s = 0.0;
  double predicted_share = 0.0, measured_share = 0.0;  // communication, hidden or not
  bool memory_equal = false;
  double error() const { return predicted_s / measured_s - 1.0; }
};

std::vector<fs::path> scenarios_in(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_directory(directory, error))
    throw InputError(fmt::format("{}: error: no such directory\n  hint: a directory with scenarios in calibrated/ and "
                                 "held-out/, as validation/cpu\n", directory.string()));
  return files_in(directory, ".json");
}

// What the program said is the user's business where it refused its input, as where orrery itself does.
[[noreturn]] void fail_with(int code, const std::string& what) {
  if (code == kWrongInput) throw InputError(fmt::format("error: {}\n", what));
  throw WorldError(what);
}

// Only the scenarios of calibrated/ are shown to it. A finished calibration is made anew, since machines drift; one that was
// interrupted goes on.
std::string calibrated_cluster(const ValidateOptions& o) {
  if (!o.cluster.empty()) return o.cluster;
  std::vector<std::string> words{"calibrate"};
  for (const fs::path& file : scenarios_in(fs::path(o.directory) / "calibrated")) words.push_back(file.string());
  words.insert(words.end(), {"--output", o.output, "--name", "this-machine"});
  if (o.quick) words.emplace_back("--quick");
  if (const int code = run_runtime(words); code != kFine) fail_with(code, "calibration failed");
  return (fs::path(o.output) / "this-machine.json").string();
}

void perform(const ValidateOptions& o, const std::string& file, const std::string& cluster, const std::string& trace) {
  std::string said;
  const ChildEnd end = run_child({.program = require_runtime(),
                                  .arguments = {file, "--set", "cluster=" + cluster, "--backend", "threads", "--quiet", "--steps",
                                                std::to_string(o.steps), "--save-trace", trace},
                                  .on_output = [](std::string_view) {},
                                  .on_error = [&](std::string_view text) { said += text; }});
  if (const int code = exit_code_of("orrery-rt", end, !said.empty()); code != kFine)
    fail_with(code, fmt::format("{}: performing it failed\n{}", file, said));
}

// Before anything is measured or performed: a mistake in the last file would be found only after minutes. Clusters that
// calibration is to write cannot be read yet; the scenarios are then read for their form alone.
std::vector<scenarios::Scenario> read_all(const ValidateOptions& o, const std::vector<fs::path>& files, const std::string& cluster) {
  std::vector<std::string> names;
  for (const fs::path& file : files) names.push_back(file.string());
  if (cluster.empty()) {
    for (const std::string& name : names) static_cast<void>(scenarios::read_shipped_json(name));
    return {};
  }
  if (find_file(cluster, nullptr).empty() && !fs::exists(cluster))
    throw InputError(fmt::format("error: --cluster {}: no such file\n  hint: a cluster file that orrery calibrate has written, as "
                                 "machines/this-machine.json\n", o.cluster));
  try {
    return load_scenarios({names, {"cluster=" + cluster}});
  } catch (const InputError& error) {
    if (o.cluster.empty()) throw;
    throw InputError(fmt::format("{}  with --cluster {}\n", error.what(), o.cluster));
  }
}

// What calibration said of itself; the table above rests on it.
std::string reservations_of(const std::vector<scenarios::Scenario>& scenarios) {
  std::string text;
  if (scenarios.empty() || !scenarios.front().cluster.gpu.kernel_table) return text;
  for (const std::string& note : hardware::reservations(scenarios.front().cluster.gpu.kernel_table->provenance))
    text += fmt::format("warning: the calibration: {}\n", note);
  return text;
}

// Alone on a machine, steps differ by some percent.
constexpr double kUnsteady = 1.25;

std::string unsteady(const std::vector<Row>& rows) {
  const auto wide = std::count_if(rows.begin(), rows.end(), [](const Row& r) { return r.p90_s > kUnsteady * r.p10_s; });
  if (wide == 0) return {};
  return fmt::format("warning: steps of {} of {} scenarios differ by more than {:.0f} % (p10 to p90): the machine was busy with other "
                     "programs\n  hint: errors say little of the prediction then; repeat it when nothing else runs\n",
                     wide, rows.size(), 100.0 * (kUnsteady - 1.0));
}

Row validate(const ValidateOptions& o, const fs::path& file, const std::string& cluster, bool calibrated) {
  const scenarios::Scenario scenario =
      load_scenarios({{file.string()}, {"cluster=" + cluster}}).front();
  const Prediction prediction = predict(scenario, with_steady_trace(predict_options(true)));
  const schedule::Trace predicted = to_trace(scenario, prediction);
  const std::string path = (fs::path(o.output) / (file.stem().string() + ".trace")).string();
  perform(o, file.string(), cluster, path);
  const schedule::Trace measured = schedule::read_trace(path);
  require_trace_of(prediction.schedule, measured, path, file.string());
  const TraceComparison c = compare_traces(scenario, prediction.schedule, {"predicted", "", &predicted}, {"measured", path, &measured});
  Row row;
  row.name = scenario.name;
  row.calibrated = calibrated;
  row.predicted_s = c.first.metrics.step_time_s;
  row.measured_s = c.second.metrics.step_time_s;
  row.p10_s = quantile(c.second.metrics.step_times_s, 0.1);
  row.p90_s = quantile(c.second.metrics.step_times_s, 0.9);
  row.predicted_share = c.first.metrics.shares.communication_any;
  row.measured_share = c.second.metrics.shares.communication_any;
  row.memory_equal = std::all_of(c.memory.begin(), c.memory.end(), [](const RankMemory& m) { return m.equal(); });
  return row;
}

std::string header() {
  return fmt::format("{:<34} {:>11} {:>11} {:>8} {:>21} {:>15} {:>7}\n", "scenario", "predicted", "measured", "error",
                     "p10 .. p90 of steps", "transfers p / m", "memory");
}

std::string line(const Row& r) {
  return fmt::format("{:<34} {:>8.2f} ms {:>8.2f} ms {:>+6.1f} % {:>8.2f} .. {:>6.2f} ms {:>5.1f} / {:>4.1f} % {:>7}\n", r.name.substr(0, 34),
                     1e3 * r.predicted_s, 1e3 * r.measured_s, 100 * r.error(), 1e3 * r.p10_s, 1e3 * r.p90_s,
                     100 * r.predicted_share, 100 * r.measured_share, r.memory_equal ? "equal" : "DIFFERS");
}

struct Errors {
  std::vector<double> step_times, shares;  // absolute
};
Errors errors_of(const std::vector<Row>& rows, bool calibrated) {
  Errors errors;
  for (const Row& r : rows)
    if (r.calibrated == calibrated) {
      errors.step_times.push_back(std::abs(r.error()));
      errors.shares.push_back(std::abs(r.predicted_share - r.measured_share));
    }
  return errors;
}

std::string summary(const std::vector<Row>& rows, bool calibrated) {
  const auto [times, shares] = errors_of(rows, calibrated);
  if (times.empty()) return {};
  return fmt::format("{:<14} {:>2} scenarios: |error| of step time median {:.1f} %, p90 {:.1f} %, worst {:.1f} %; share of transfers "
                     "off by {:.1f} points in the median\n", calibrated ? "calibrated" : "held out", times.size(),
                     100 * quantile(times, 0.5), 100 * quantile(times, 0.9), 100 * quantile(times, 1.0), 100 * quantile(shares, 0.5));
}

// Medians, since another program on the machine makes single scenarios twice as slow.
bool is_within(const std::vector<Row>& rows, double most_error) {
  for (const bool calibrated : {true, false}) {
    const Errors errors = errors_of(rows, calibrated);
    if (!errors.step_times.empty() && quantile(errors.step_times, 0.5) > most_error) return false;
  }
  return std::all_of(rows.begin(), rows.end(), [](const Row& r) { return r.memory_equal; });
}

void keep(const std::string& path, const std::vector<Row>& rows) {
  std::ofstream file(path, std::ios::binary);
  file << csv_record({"scenario", "calibrated", "predicted_s", "measured_s", "error", "measured_p10_s", "measured_p90_s",
                      "predicted_comm_fraction", "measured_comm_fraction", "memory_equal"});
  for (const Row& r : rows)
    file << csv_record({r.name, r.calibrated ? "yes" : "no", fmt::format("{:.6g}", r.predicted_s), fmt::format("{:.6g}", r.measured_s),
                        fmt::format("{:.4f}", r.error()), fmt::format("{:.6g}", r.p10_s), fmt::format("{:.6g}", r.p90_s),
                        fmt::format("{:.4f}", r.predicted_share), fmt::format("{:.4f}", r.measured_share), r.memory_equal ? "yes" : "no"});
  file.close();
  if (!file) throw WorldError(fmt::format("{}: writing it failed", path));
}

int validate_here(ValidateOptions o, Output& out) {
  require_finite("--most-error", o.most_error_percent);
  if (o.directory.empty()) o.directory = "validation/cpu";
  if (o.output.empty()) o.output = "validation-run";
  if (o.quick && !o.cluster.empty())
    throw InputError("error: --quick is of the calibration, and --cluster says that there is one\n  hint: leave one of them out\n");
  const auto calibrated = scenarios_in(fs::path(o.directory) / "calibrated");
  const auto held_out = scenarios_in(fs::path(o.directory) / "held-out");
  std::vector<fs::path> all = calibrated;
  all.insert(all.end(), held_out.begin(), held_out.end());
  static_cast<void>(require_runtime());
  static_cast<void>(read_all(o, all, o.cluster));
  make_directories(o.output);
  const std::string cluster = calibrated_cluster(o);
  const std::vector<scenarios::Scenario> scenarios = read_all(o, all, cluster);
  std::vector<Row> rows;
  out.write(header());
  {
    Progress progress("validate", static_cast<std::int64_t>(calibrated.size() + held_out.size()));
    for (const auto& [files, known] : {std::pair{&calibrated, true}, std::pair{&held_out, false}})
      for (const fs::path& file : *files) {
        rows.push_back(validate(o, file, cluster, known));
        out.write(line(rows.back()));
        out.flush();
        keep((fs::path(o.output) / "table.csv").string(), rows);
        progress.advance();
      }
  }
  out.write("\n" + summary(rows, true) + summary(rows, false) + reservations_of(scenarios) + unsteady(rows));
  return o.most_error_percent <= 0.0 || is_within(rows, o.most_error_percent / 100.0) ? kFine : kNo;
}

int run_validation(const ValidateOptions& o, Output& out) {
  if (o.execute) return validate_here(o, out);
  return validate_published({.directory = o.directory.empty() ? "validation/runs" : o.directory,
                             .output = o.output, .markdown = o.markdown, .worst = o.worst, .threads = o.threads}, out);
}

}  // namespace

Action declare_validate(CLI::App& app) {
  const auto o = std::make_shared<ValidateOptions>();
  app.add_option("DIR", o->directory,
                 "Files of published runs, as validation/runs (the default); with --execute scenarios in DIR/calibrated, which "
                 "calibration sees, and DIR/held-out, which it does not (validation/cpu)")
      ->type_name("");
  CLI::Option* execute = app.add_flag("--execute", o->execute, "Perform scenarios on this machine instead");
  app.add_option("--output", o->output, "Also a CSV file with a line for each run; with --execute the directory of the calibration, the "
                                        "traces and table.csv (validation-run)")
      ->type_name("PATH");
  app.add_flag("--markdown", o->markdown, "The tables as docs/accuracy.md has them")->excludes(execute);
  app.add_option("--worst", o->worst, "So many runs are named that are farthest off")->type_name("N")->capture_default_str()->excludes(execute);
  app.add_option("-j,--threads", o->threads, "Threads; as many as cores by default")->check(CLI::Range(1U, 1024U))->excludes(execute);
  app.add_option("--cluster", o->cluster, "A calibrated cluster file; default: this machine is calibrated first")->type_name("FILE")->needs(execute);
  app.add_flag("--quick", o->quick, "Calibrate in less than a minute")->needs(execute);
  app.add_option("--steps", o->steps, "Steps of each scenario, the first two not measured")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{4}, std::int64_t{100000}))
      ->capture_default_str()
      ->needs(execute);
  app.add_option("--most-error", o->most_error_percent, "Exit with 1 where the median step time is further off, or any live bytes differ")
      ->type_name("PERCENT")
      ->check(CLI::PositiveNumber)
      ->needs(execute);
  return [o](Output& out) { return run_validation(*o, out); };
}

}  // namespace orrery::sim
