// `check`: is the scenario legal (else exit 2), is its schedule sound, does it fit (else exit 1)? Also for a
// schedule that somebody wrote by hand: a file whose name ends in ".schedule".
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "schedule/compile.h"
#include "schedule/text.h"
#include "schedule/verify.h"
#include "sim/commands/command.h"
#include "sim/commands/scenario_files.h"
#include "sim/commands/schedule_file.h"
#include "sim/report/result_words.h"
#include "sim/report/text_layout.h"

namespace orrery::sim {
namespace {

using Out = nlohmann::ordered_json;

struct CheckOptions {
  ScenarioOptions scenarios;
  bool json = false;
};

struct Checked {
  std::string file, errors;  // errors: why it is illegal, as printed
  std::vector<schedule::Finding> findings;
  std::string shape;                    // "4 programs, 128 ranks"
  std::string verdict, memory, advice;  // of a scenario whose schedule is sound
  bool fits = true, has_fit = false;
  int exit() const {
    return !errors.empty() ? kWrongInput : schedule::is_sound(findings) && fits ? kFine : kNo;
  }
};

void check_fit(const scenarios::Scenario& scenario, Checked& checked) {
  PredictOptions options;
  options.verify = false;  // it was
  const Result result = predict(scenario, options).result;
  checked.has_fit = true;
  checked.fits = result.verdict != Verdict::does_not_fit;
  checked.verdict = std::string(name(result.verdict));
  checked.memory = fmt::format("{} of {}", bytes_text(result.peak_memory_bytes.value),
                               bytes_text(static_cast<double>(result.capacity.count())));
  for (const Diagnostic& warning : result.warnings) checked.advice += print(warning);
}

void check_schedule(const schedule::Schedule& schedule, Checked& checked) {
  checked.shape = shape_of(schedule);
  checked.findings = schedule::verify(schedule);
}

Checked check_file(const std::string& file, const std::vector<scenarios::Assignment>& assignments) {
  Checked checked;
  checked.file = file;
  try {
    if (file.ends_with(".schedule")) {
      check_schedule(schedule::read_schedule(file), checked);
      return checked;
    }
    const scenarios::Scenario scenario = scenarios::resolve_with(scenarios::read_shipped_json(file), assignments);
    check_schedule(schedule::compile(scenario), checked);
    if (schedule::is_sound(checked.findings)) check_fit(scenario, checked);
  } catch (const InputError& error) {
    checked.errors = error.what();
  }
  return checked;
}

std::string text_of(const Checked& c) {
  std::string text = c.file + "\n";
  if (!c.errors.empty()) return text + "  legal     no\n";
  text += "  legal     yes\n";
  text += fmt::format("  schedule  {}: {}\n", findings_word(c.findings), c.shape);
  text += findings_text(c.findings);
  if (c.has_fit) text += fmt::format("  fit       {}: {}\n", c.verdict, c.memory);
  return text;
}

Out json_of(const Checked& c) {
  Out out = {{"file", c.file}, {"legal", c.errors.empty()}};
  if (!c.errors.empty()) {
    out["errors"] = c.errors;
    return out;
  }
  const bool unknown = schedule::is_sound(c.findings) && !c.findings.empty();
  out["sound"] = unknown ? Out() : Out(c.findings.empty());
  out["findings"] = Out::array();
  for (const schedule::Finding& f : c.findings)
    out["findings"].push_back({{"message", f.message}, {"lines", f.lines}});
  if (c.has_fit) out["verdict"] = c.verdict;
  if (c.has_fit) out["fits"] = c.fits;
  return out;
}

int check(const CheckOptions& o, Output& out) {
  std::vector<scenarios::Assignment> assignments;
  for (const std::string& set : o.scenarios.sets) assignments.push_back(scenarios::parse_assignment(set));
  std::vector<Checked> all;
  for (const std::string& file : o.scenarios.files) all.push_back(check_file(file, assignments));
  int exit = kFine;
  Out files = Out::array();
  for (const Checked& c : all) {
    exit = std::max(exit, c.exit());
    if (o.json)
      files.push_back(json_of(c));
    else
      out.write(text_of(c));
  }
  if (o.json) {
    const Out document = {{"schema_version", 1}, {"files", files}};
    out.write(document.dump(2, ' ', false, Out::error_handler_t::replace) + "\n");
    return exit;
  }
  out.flush();  // so that on one screen what is wrong stands behind where
  for (const Checked& c : all) fmt::print(stderr, "{}{}", c.errors, c.advice);
  return exit;
}

}  // namespace

Action declare_check(CLI::App& app) {
  const auto o = std::make_shared<CheckOptions>();
  app.add_option("FILE", o->scenarios.files, "Scenario files, or schedule texts (*.schedule)")
      ->type_name("")
      ->required();
  app.add_option("--set", o->scenarios.sets, "Set a field of the scenarios (repeatable)")
      ->type_name("PATH=VALUE")
      ->allow_extra_args(false);
  app.add_flag("--json", o->json, "One JSON document, nothing else");
  return [o](Output& out) { return check(*o, out); };
}

}  // namespace orrery::sim
