// `explain`: why a step takes as long as it does. One scenario: what each resource twice as fast would give, and where it has a
// measurement, which single assumption that nobody stated would close the gap. Two: where their difference comes from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/inherit.h"
#include "base/json.h"
#include "scenarios/load.h"
#include "sim/commands/command.h"
#include "sim/commands/scenario_files.h"
#include "sim/metrics/what_if.h"
#include "sim/report/measured_rows.h"
#include "sim/report/progress.h"
#include "sim/report/result_words.h"
#include "sim/report/text_layout.h"

namespace orrery::sim {
namespace {

// Settings that sources often leave unsaid, each with what it may be.
constexpr const char* kAssumptions[] = {
    "training.recompute=none",        "training.recompute=selective",   "training.recompute=full",
    "parallel.sp=true",               "parallel.sp=false",              "overlap.gradient_reduce=true",
    "overlap.gradient_reduce=false",  "overlap.parameter_gather=true",  "overlap.parameter_gather=false",
    "overlap.pipeline=true",          "overlap.pipeline=false",         "overlap.tensor_backward=true",
    "overlap.tensor_backward=false",  "kernels.fused_attention=true",   "kernels.fused_attention=false",
    "kernels.fused_elementwise=true", "kernels.fused_elementwise=false", "kernels.cuda_graphs=true",
    "recipe.gradient_bytes=2",        "recipe.gradient_bytes=4",        "cluster.fabric.efficiency=0.5"};

double step_of(const scenarios::Scenario& s) { return predict(s).result.step_time_s.value; }

bool states(const Json& json, std::string_view path) {
  const std::size_t dot = path.find('.');
  const Json* member = json.find(path.substr(0, dot));
  if (member == nullptr || dot == std::string_view::npos) return member != nullptr;
  return member->is_object() && states(*member, path.substr(dot + 1));
}

std::string gains_text(const scenarios::Scenario& s, double step) {
  std::vector<std::vector<std::string>> rows{{"twice as fast", "step", "shorter by"}};
  for (const Gain& gain : gains(s))
    rows.push_back({std::string(word(gain.resource)), seconds_text(gain.step_time_s), percent_text(1.0 - gain.step_time_s / step)});
  return rows.size() == 1 ? "" : "\nWhat a faster machine would give, each simulated alone\n" + table_text(rows);
}

struct Closer {
  std::string assumption;
  double step_s = 0.0;
};

// The measured machine of a kernel table states its own times, and scenarios that are refused with a change are passed over.
std::vector<Closer> closers(const std::string& file, const std::vector<std::string>& sets, double measured, double step) {
  Diagnostics diagnostics;
  const Json json = scenarios::read_shipped_json(file);
  const Json stated = inherit(json, diagnostics);
  std::vector<scenarios::Assignment> assignments;
  for (const std::string& text : sets) assignments.push_back(scenarios::parse_assignment(text));
  std::vector<Closer> found;
  Progress progress("explain", static_cast<std::int64_t>(std::size(kAssumptions)));
  for (const char* text : kAssumptions) {
    progress.advance();
    const scenarios::Assignment assumption = scenarios::parse_assignment(text);
    if (!assumption.path.starts_with("cluster.") && states(stated, assumption.path)) continue;
    std::vector<scenarios::Assignment> all = assignments;
    all.push_back(assumption);
    try {
      const double changed = step_of(scenarios::resolve_with(json, all));
      if (std::abs(changed / measured - 1.0) < std::abs(step / measured - 1.0) - 1e-3) found.push_back({text, changed});
    } catch (const InputError&) {
      continue;
    }
  }
  std::stable_sort(found.begin(), found.end(), [&](const Closer& a, const Closer& b) {
    return std::abs(a.step_s / measured - 1.0) < std::abs(b.step_s / measured - 1.0);
  });
  return found;
}

std::string gap_text(const std::string& file, const std::vector<std::string>& sets, const scenarios::Scenario& s, const Result& r) {
  for (const MeasuredRow& row : measured_rows(s, r)) {
    if (row.unit != "s") continue;
    std::string text = fmt::format("\nMeasured {}, predicted {}: {:+.1f} %\n", seconds_text(row.measured), seconds_text(row.predicted),
                                   100.0 * row.error());
    std::vector<std::vector<std::string>> rows{{"if this were so, which nobody states", "step", "error"}};
    for (const Closer& c : closers(file, sets, row.measured, row.predicted))
      rows.push_back({c.assumption, seconds_text(c.step_s), fmt::format("{:+.1f} %", 100.0 * (c.step_s / row.measured - 1.0))});
    return text + (rows.size() == 1 ? "  no single setting that was not stated brings it closer\n" : table_text(rows));
  }
  return {};
}

std::string difference_text(const scenarios::Scenario& a, const Result& ra, const scenarios::Scenario& b, const Result& rb) {
  std::vector<std::vector<std::string>> rows{{"of the step, average over ranks", a.name, b.name, "difference"}};
  for (std::size_t i = 0; i < kShares; ++i) {
    const double x = ra.waterfall_s[i], y = rb.waterfall_s[i];
    if (x <= 0.0 && y <= 0.0) continue;
    rows.push_back({std::string(words_for(static_cast<Share>(i))), seconds_text(x), seconds_text(y),
                    fmt::format("{}{}", y < x ? "-" : "+", seconds_text(std::abs(y - x)))});
  }
  const double x = ra.step_time_s.value, y = rb.step_time_s.value;
  rows.push_back({"step", seconds_text(x), seconds_text(y), fmt::format("{}{}", y < x ? "-" : "+", seconds_text(std::abs(y - x)))});
  return table_text(rows);
}

std::string waterfall_text(const Result& r) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < kShares; ++i)
    if (r.waterfall_s[i] > 0.0)
      rows.push_back({std::string(words_for(static_cast<Share>(i))), seconds_text(r.waterfall_s[i]),
                      percent_text(r.waterfall_s[i] / r.step_time_s.value)});
  rows.push_back({"step", seconds_text(r.step_time_s.value), ""});
  return table_text(rows);
}

std::string assumptions_text(const Result& r) {
  std::vector<UncertainPart> parts = r.parts;
  const auto weight = [](const UncertainPart& p) { return p.share * std::max(-p.log_low, p.log_high); };
  std::stable_sort(parts.begin(), parts.end(), [&](const auto& a, const auto& b) { return weight(a) > weight(b); });
  std::vector<std::vector<std::string>> rows{{"most uncertain", "share of the step", "moves the step by", "origin"}};
  for (const UncertainPart& p : parts)
    if (rows.size() <= 5 && weight(p) > 0.0)
      rows.push_back({p.name, percent_text(p.share), fmt::format("{:+.1f} / {:+.1f} %", 100.0 * p.share * std::expm1(p.log_low),
                                                                 100.0 * p.share * std::expm1(p.log_high)),
                      std::string(name(p.origin))});
  return "\nWhich assumptions matter most\n" + table_text(rows);
}

int explain(const ScenarioOptions& o, Output& out) {
  if (o.files.size() > 2)
    throw InputError("error: explain takes one scenario, or two to tell apart\n  hint: orrery compare puts more side by side\n");
  const std::vector<scenarios::Scenario> scenarios = load_scenarios(o);
  std::vector<Result> results;
  for (const scenarios::Scenario& s : scenarios) results.push_back(predict(s).result);
  const scenarios::Scenario& s = scenarios.front();
  const Result& r = results.front();
  if (scenarios.size() == 2) {
    out.write(difference_text(s, r, scenarios[1], results[1]));
    for (std::size_t i = 0; i < 2; ++i)
      out.write("\n" + scenarios[i].name + gains_text(scenarios[i], results[i].step_time_s.value));
    return kFine;
  }
  out.write(s.name + "\n" + waterfall_text(r) + gains_text(s, r.step_time_s.value) + assumptions_text(r) +
            gap_text(o.files.front(), o.sets, s, r));
  return kFine;
}

}  // namespace

Action declare_explain(CLI::App& app) {
  const auto o = std::make_shared<ScenarioOptions>();
  declare_scenarios(app, *o);
  return [o](Output& out) { return explain(*o, out); };
}

}  // namespace orrery::sim
