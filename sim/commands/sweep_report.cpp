#include "sim/commands/sweep_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "sim/report/text_layout.h"

namespace orrery::sim {
namespace {

using Out = nlohmann::ordered_json;
constexpr int kSweepSchemaVersion = 1;

std::optional<double> number_of(const std::string& text) {
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Cells by the name of their column.
class Cells {
 public:
  explicit Cells(const SweepPlan& plan) : columns_(sweep_columns(plan)) {}
  const std::vector<std::string>& columns() const { return columns_; }
  const std::string& of(const SweepRow& row, const std::string& column) const {
    return row[static_cast<std::size_t>(std::find(columns_.begin(), columns_.end(), column) -
                                        columns_.begin())];
  }

 private:
  std::vector<std::string> columns_;
};

struct Shown {
  std::string column, title;
  std::string (*text)(double);
};

std::string signed_log(double value) { return fmt::format("{:+.2f}", value); }

std::vector<Shown> shown_columns(const Cells& cells, const SweepRows& rows) {
  std::vector<Shown> shown = {{"step_time_s.value", "step", seconds_text},
                              {"samples_per_s", "samples/s", number_text},
                              {"mfu", "MFU", percent_text},
                              {"memory.total_bytes", "memory", bytes_text},
                              {"comm.total_fraction", "transfers", percent_text}};
  const auto filled = [&](const char* column) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const auto& row) { return !cells.of(row.second, column).empty(); });
  };
  for (const auto& [column, title] : {std::pair{"log_error.throughput", "ln speed"},
                                      {"log_error.memory_total", "ln memory"},
                                      {"log_error.communication_total", "ln transfers"}})
    if (filled(column)) shown.push_back({column, title, signed_log});
  return shown;
}

std::string shown_cell(const std::string& cell, std::string (*text)(double)) {
  const std::optional<double> value = number_of(cell);
  return value ? text(*value) : cell;
}

std::string words_of(std::size_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string summary(const Cells& cells, const SweepRows& rows) {
  std::map<std::string, std::size_t> by_status;
  for (const auto& [index, row] : rows) ++by_status[cells.of(row, "status")];
  std::string text = words_of(rows.size(), "combination", "combinations") + ":";
  struct Words {
    const char *status, *one, *many;
  };
  constexpr std::array<Words, 4> kWords = {{{"fits", "fits", "fit"},
                                            {"risky", "is risky", "are risky"},
                                            {"does not fit", "does not fit", "do not fit"},
                                            {"illegal", "is illegal", "are illegal"}}};
  const char* separator = " ";
  for (const Words& words : kWords) {
    const std::size_t count = by_status[words.status];
    if (count == 0) continue;
    text += fmt::format("{}{} {}", separator, count, count == 1 ? words.one : words.many);
    separator = ", ";
  }
  return text + "\n";
}

std::string what_is_set(const SweepPlan& plan, const Cells& cells, const SweepRow& row) {
  std::string text = plan.files.size() > 1 ? cells.of(row, "file") + " " : "";
  for (const scenarios::Axis& axis : plan.axes) text += fmt::format("{}={} ", axis.path, cells.of(row, axis.path));
  if (!text.empty()) text.pop_back();
  return text;
}

// One reason often refuses many combinations: each is said once.
std::string refusals(const SweepPlan& plan, const Cells& cells, const SweepRows& rows) {
  constexpr std::size_t kListed = 5;
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const auto& [index, row] : rows) {
    const std::string& reason = cells.of(row, "reason");
    if (reason.empty()) continue;
    auto at = std::find_if(reasons.begin(), reasons.end(),
                           [&](const auto& entry) { return entry.first == reason; });
    if (at == reasons.end()) at = reasons.insert(at, {reason, {}});
    at->second.push_back(what_is_set(plan, cells, row));
  }
  std::string text;
  for (const auto& [reason, combinations] : reasons) {
    text += wrapped(reason, "  ");
    for (std::size_t i = 0; i < std::min(kListed, combinations.size()); ++i)
      text += wrapped(combinations[i], "    in ");
    if (combinations.size() > kListed)
      text += fmt::format("    and in {} more\n", combinations.size() - kListed);
  }
  return text;
}

Out json_cell(const std::string& cell) {
  if (cell.empty()) return nullptr;
  std::int64_t integer = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), integer);
  if (error == std::errc{} && end == cell.data() + cell.size()) return integer;
  if (const std::optional<double> value = number_of(cell)) return *value;
  return cell;
}

// A fingerprint may consist of digits only, and stays a text.
bool is_text(const std::string& column) {
  return column == "fingerprint" || column == "scenario" || column == "plan";
}

Out json_row(const SweepPlan& plan, const Cells& cells, const SweepRow& row) {
  Out out, set = Out::object();
  for (const scenarios::Axis& axis : plan.axes) set[axis.path] = json_cell(cells.of(row, axis.path));
  out["index"] = json_cell(cells.of(row, "index"));
  out["file"] = cells.of(row, "file");
  out["set"] = std::move(set);
  const std::size_t first = 3 + plan.axes.size();
  for (std::size_t i = first; i < row.size(); ++i) {
    if (row[i].empty()) continue;
    out[cells.columns()[i]] = is_text(cells.columns()[i]) ? Out(row[i]) : json_cell(row[i]);
  }
  return out;
}

}  // namespace

std::string sweep_text(const SweepPlan& plan, const SweepRows& rows) {
  const Cells cells(plan);
  const std::vector<Shown> shown = shown_columns(cells, rows);
  std::vector<std::vector<std::string>> table(1);
  if (plan.files.size() > 1) table[0].push_back("file");
  for (const scenarios::Axis& axis : plan.axes) table[0].push_back(axis.path.substr(axis.path.rfind('.') + 1));
  table[0].push_back("verdict");
  for (const Shown& each : shown) table[0].push_back(each.title);
  for (const auto& [index, row] : rows) {
    if (!cells.of(row, "reason").empty()) continue;
    std::vector<std::string> line;
    if (plan.files.size() > 1) line.push_back(cells.of(row, "file"));
    for (const scenarios::Axis& axis : plan.axes) line.push_back(cells.of(row, axis.path));
    line.push_back(cells.of(row, "status"));
    for (const Shown& each : shown) line.push_back(shown_cell(cells.of(row, each.column), each.text));
    table.push_back(std::move(line));
  }
  std::string text = summary(cells, rows);
  if (table.size() > 1) text += "\n" + table_text(table);
  const std::string refused = refusals(plan, cells, rows);
  if (!refused.empty()) text += "\nIllegal\n" + refused;
  return text;
}

std::string sweep_json(const SweepPlan& plan, const SweepRows& rows) {
  const Cells cells(plan);
  Out out;
  out["schema_version"] = kSweepSchemaVersion;
  out["sweep"] = plan.id;
  out["fields"] = Out::array();
  for (const scenarios::Axis& axis : plan.axes) out["fields"].push_back(axis.path);
  out["rows"] = Out::array();
  for (const auto& [index, row] : rows) out["rows"].push_back(json_row(plan, cells, row));
  return out.dump(2, ' ', false, Out::error_handler_t::replace) + "\n";
}

}  // namespace orrery::sim
