#include "sim/commands/sweep_row.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "scenarios/override.h"
#include "sim/commands/csv_text.h"
#include "sim/commands/scenario_files.h"
#include "sim/report/csv_result.h"
#include "sim/report/result_words.h"

namespace orrery::sim {
namespace {

// Whether a published memory counts what is outside the allocator, and whether a published share counts
// hidden transfers, is rarely said: both meanings get a column.
constexpr std::array<const char*, 5> kErrors = {"log_error.throughput", "log_error.memory_live",
                                                "log_error.memory_total", "log_error.communication_total",
                                                "log_error.communication_exposed"};

using Errors = std::array<std::optional<double>, kErrors.size()>;

std::optional<double> log_ratio(double predicted, const std::optional<double>& measured) {
  if (!measured || *measured <= 0.0) return std::nullopt;
  return std::log(predicted / *measured);
}

// Throughput from whichever of its forms was measured. TFLOP/s are left out: sources count them differently.
std::optional<double> throughput_error(const scenarios::Measured& m, const Result& r) {
  if (m.samples_per_s) return log_ratio(r.samples_per_s, m.samples_per_s);
  if (m.tokens_per_s_per_gpu) return log_ratio(r.tokens_per_s_per_gpu, m.tokens_per_s_per_gpu);
  const std::optional<double> slower = log_ratio(r.step_time_s.value, m.step_time_s);
  return slower ? std::optional<double>(-*slower) : std::nullopt;
}

Errors errors_of(const scenarios::Scenario& s, const Result& r) {
  if (!s.measured) return {};
  const scenarios::Measured& m = *s.measured;
  const auto live = static_cast<double>(r.stages[r.worst_stage].memory.peak.count());
  return {throughput_error(m, r), log_ratio(live, m.peak_memory_bytes),
          log_ratio(r.peak_memory_bytes.value, m.peak_memory_bytes),
          log_ratio(r.communication_total, m.comm_fraction),
          log_ratio(r.communication_exposed, m.comm_fraction)};
}

std::vector<std::string> result_columns() { return parse_csv(csv_header() + "\n").records.front(); }

// The messages of a printed text, in one line: "tp=3 does not divide heads=32 (use 1, 2, 4 or 8); ...".
std::string reason_of(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics.all())
    if (d.severity == Severity::error)
      text += fmt::format("{}{}{}", text.empty() ? "" : "; ", d.message,
                          d.hint.empty() ? "" : fmt::format(" ({})", d.hint));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return text;
}

std::string first_line(const std::string& text) {
  const std::size_t at = text.find("error: ");
  const std::size_t from = at == std::string::npos ? 0 : at + 7;
  return text.substr(from, text.find('\n', from) - from);
}

struct Outcome {
  std::string status, reason;
  std::vector<std::string> result;  // empty where there is none
  Errors errors;
};

Outcome illegal(std::string reason) { return {"illegal", std::move(reason), {}, {}}; }

// What is set from outside is legal or not by itself, so that every error of a combination is found.
Outcome predict_combination(const SweepPlan& plan, const SweepPlan::Combination& combination) {
  Json json = plan.scenarios[combination.file];
  for (const scenarios::Assignment& a : combination.assignments)
    json = scenarios::apply_override(std::move(json), a.path, a.value);
  Diagnostics diagnostics;
  const scenarios::Scenario scenario = scenarios::resolve_scenario(json, diagnostics);
  if (diagnostics.has_errors()) return illegal(reason_of(diagnostics));
  const Result result = predict(scenario, predict_options(plan.full)).result;
  return {std::string(name(result.verdict)), "", parse_csv(csv_row(scenario, result) + "\n").records.front(),
          errors_of(scenario, result)};
}

Outcome outcome_of(const SweepPlan& plan, const SweepPlan::Combination& combination) {
  try {
    return predict_combination(plan, combination);
  } catch (const InputError& error) {  // a schedule that deadlocks, a file that another value names
    return illegal(first_line(error.what()));
  }
}

}  // namespace

std::vector<std::string> sweep_columns(const SweepPlan& plan) {
  std::vector<std::string> columns = {"index", "sweep", "file"};
  for (const scenarios::Axis& axis : plan.axes) columns.push_back(axis.path);
  columns.insert(columns.end(), {"status", "reason"});
  for (std::string& column : result_columns()) columns.push_back(std::move(column));
  columns.insert(columns.end(), kErrors.begin(), kErrors.end());
  return columns;
}

SweepRow evaluate(const SweepPlan& plan, std::size_t index) {
  const SweepPlan::Combination combination = plan.at(index);
  Outcome outcome = outcome_of(plan, combination);
  SweepRow row = {fmt::format("{}", index), plan.id, plan.files[combination.file]};
  for (const scenarios::Assignment& a : combination.assignments) row.push_back(a.written);
  row.push_back(std::move(outcome.status));
  row.push_back(std::move(outcome.reason));
  outcome.result.resize(result_columns().size());
  for (std::string& cell : outcome.result) row.push_back(std::move(cell));
  for (const std::optional<double>& error : outcome.errors)
    row.push_back(error ? fmt::format("{}", *error) : "");
  return row;
}

}  // namespace orrery::sim
