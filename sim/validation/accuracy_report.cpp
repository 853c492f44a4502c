#include "sim/validation/accuracy_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/report/result_words.h"
#include "sim/report/text_layout.h"

namespace orrery::sim {
namespace {

struct Quantity {
  std::string_view title;
  QuantityError RunError::*of;
};
constexpr Quantity kQuantities[] = {{"step time", &RunError::time}, {"peak memory", &RunError::memory}};

std::string percent(double share) { return fmt::format("{:.1f} %", 100.0 * share); }
std::string signed_percent(double share) { return fmt::format("{:+.1f} %", 100.0 * share); }

std::vector<std::string> cells(const ErrorSummary& s) {
  return {s.group, std::to_string(s.count), percent(s.mean), percent(s.median), percent(s.p90), percent(s.worst),
          signed_percent(s.bias), fmt::format("{:.0f} %", 100.0 * s.inside), fmt::format("{:.0f} %", 100.0 * s.width)};
}
std::vector<std::string> titles(std::string_view by) {
  return {std::string(by), "runs", "mean", "median", "p90", "worst", "bias", "inside", "width"};
}

std::vector<const RunError*> worst_of(const std::vector<RunError>& errors, std::size_t count) {
  std::vector<const RunError*> order;
  for (const RunError& e : errors) order.push_back(&e);
  std::stable_sort(order.begin(), order.end(), [](const RunError* a, const RunError* b) {
    return std::abs(std::log1p(a->time.error())) > std::abs(std::log1p(b->time.error()));
  });
  order.resize(std::min(order.size(), count));
  return order;
}

std::string account(const RunError& e) {
  if (e.largest_share < 0.01) return "hardly anything but computation";
  return fmt::format("{} is {} of the step", words_for(e.largest), percent(e.largest_share));
}

// "matrix products=0.812; memory-bound kernels=0.094", in seconds: what fits of whole stacks rest on (validation/fit).
std::string parts_text(const RunError& e) {
  std::string text;
  for (const auto& [name, seconds] : e.parts) text += fmt::format("{}{}={:.6g}", text.empty() ? "" : "; ", name, seconds);
  return text;
}

}  // namespace

std::string accuracy_text(const std::vector<RunError>& errors, std::size_t worst) {
  std::string text;
  for (const Quantity& quantity : kQuantities) {
    if (summaries(errors, quantity.of, GroupBy::all).empty()) continue;
    text += fmt::format("{}\n", quantity.title);
    std::vector<std::vector<std::string>> rows;
    for (const GroupBy by : kGroupings) {
      rows.push_back(titles(word(by)));
      for (const ErrorSummary& s : summaries(errors, quantity.of, by)) rows.push_back(cells(s));
      rows.emplace_back();
    }
    rows.push_back(titles("in all"));
    for (const ErrorSummary& s : summaries(errors, quantity.of, GroupBy::all)) rows.push_back(cells(s));
    text += table_text(rows) + "\n";
  }
  text += "worst step times\n";
  for (const RunError* e : worst_of(errors, worst))
    text += fmt::format("  {:>8}  {}: {} measured, {} predicted; {}\n", signed_percent(e->time.error()), e->run->id,
                        seconds_text(e->time.measured), seconds_text(e->time.predicted), account(*e));
  return text;
}

std::string accuracy_csv(const std::vector<RunError>& errors) {
  std::string text = "source,run,quantity,measured,predicted,error,low,high,inside,parts\n";
  for (const RunError& e : errors)
    for (const Quantity& quantity : kQuantities) {
      const QuantityError& q = e.*quantity.of;
      if (!q.known()) continue;
      text += fmt::format("{},{},{},{:.6g},{:.6g},{:.4f},{:.6g},{:.6g},{},\"{}\"\n", e.run->source, e.run->id, quantity.title,
                          q.measured, q.predicted, q.error(), q.low, q.high, q.inside() ? "yes" : "no",
                          quantity.of == &RunError::time ? parts_text(e) : "");
    }
  return text;
}

std::string accuracy_markdown(const std::vector<RunError>& errors) {
  std::string text;
  const auto row = [&](const std::vector<std::string>& row_cells) {
    text += "|";
    for (const std::string& cell : row_cells) text += " " + cell + " |";
    text += "\n";
  };
  for (const Quantity& quantity : kQuantities) {
    if (summaries(errors, quantity.of, GroupBy::all).empty()) continue;
    text += fmt::format("### {}\n\n", quantity.title);
    for (const GroupBy by : {GroupBy::all, GroupBy::source, GroupBy::gpu, GroupBy::framework, GroupBy::parallelism, GroupBy::size}) {
      row(titles(by == GroupBy::all ? "" : word(by)));
      text += "|---|---:|---:|---:|---:|---:|---:|---:|---:|\n";
      for (const ErrorSummary& s : summaries(errors, quantity.of, by)) row(cells(s));
      text += "\n";
    }
  }
  return text;
}

}  // namespace orrery::sim
