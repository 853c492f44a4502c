// `sweep`: plan, finished rows of an earlier try, the others on several threads, and the rows in one of three
// forms.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "sim/commands/command.h"
#include "sim/commands/csv_text.h"
#include "sim/commands/sweep_file.h"
#include "sim/commands/sweep_report.h"
#include "sim/commands/sweep_work.h"
#include "sim/report/progress.h"

namespace orrery::sim {
namespace {

struct SweepOptions {
  std::vector<std::string> files, sets;
  bool json = false, csv = false, require_fit = false, full = false;
  std::string output;
  unsigned threads = 0;
};

std::vector<std::size_t> missing(const SweepPlan& plan, const SweepRows& rows) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < plan.size(); ++i)
    if (rows.count(i) == 0) indices.push_back(i);
  return indices;
}

SweepRows all_rows(const SweepOptions& o, const SweepPlan& plan) {
  std::optional<SweepFile> file;
  if (!o.output.empty()) file.emplace(o.output, plan);
  SweepRows rows = file ? file->finished() : SweepRows{};
  if (!rows.empty())
    say(fmt::format("{} of {} combinations are in {} already", rows.size(), plan.size(), o.output));
  Progress progress("sweep", static_cast<std::int64_t>(plan.size()));
  progress.advance(static_cast<std::int64_t>(rows.size()));
  const unsigned threads = o.threads != 0 ? o.threads : std::max(1U, std::thread::hardware_concurrency());
  compute_rows(plan, missing(plan, rows), threads, [&](std::size_t index, SweepRow row) {
    if (file) file->append(row);
    rows.emplace(index, std::move(row));
    progress.advance();
  });
  return rows;
}

int exit_of(const SweepPlan& plan, const SweepRows& rows) {
  const std::size_t status = 3 + plan.axes.size();
  const bool any = std::any_of(rows.begin(), rows.end(), [&](const auto& row) {
    return row.second[status] == "fits" || row.second[status] == "risky";
  });
  return any ? kFine : kNo;
}

int sweep(const SweepOptions& o, Output& out) {
  const SweepPlan plan = plan_sweep(o.files, o.sets, o.full);
  const SweepRows rows = all_rows(o, plan);
  if (o.json) {
    out.write(sweep_json(plan, rows));
  } else if (o.csv) {
    out.write(csv_record(sweep_columns(plan)));
    for (const auto& [index, row] : rows) out.write(csv_record(row));
  } else {
    out.write(sweep_text(plan, rows));
  }
  return o.require_fit ? exit_of(plan, rows) : kFine;
}

}  // namespace

Action declare_sweep(CLI::App& app) {
  const auto o = std::make_shared<SweepOptions>();
  app.add_option("FILE", o->files, "Scenario files; each is combined with all values")->required();
  app.add_option("--set", o->sets,
                 "A field and its values: path=v1,v2 or path=[v1,v2], as JSON or bare words (repeatable)")
      ->type_name("PATH=VALUES")
      ->allow_extra_args(false);
  app.add_option("--output", o->output,
                 "Also write each row to this CSV file at once; an interrupted sweep goes on there")
      ->type_name("FILE");
  CLI::Option* json = app.add_flag("--json", o->json, "One JSON document, nothing else");
  app.add_flag("--csv", o->csv, "The rows as CSV")->excludes(json);
  app.add_option("-j,--threads", o->threads, "Threads; as many as cores by default")
      ->check(CLI::Range(1U, 1024U));
  app.add_flag("--require-fit", o->require_fit, "Exit with 1 where no combination fits");
  app.add_flag("--full", o->full, "Simulate every rank and microbatch, also those that are alike");
  return [o](Output& out) { return sweep(*o, out); };
}

}  // namespace orrery::sim
