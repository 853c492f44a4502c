#include "sim/report/compare_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/quantities.h"
#include "scenarios/words.h"
#include "sim/metrics/device_word.h"
#include "sim/report/measured_rows.h"
#include "sim/report/plan_lines.h"
#include "sim/report/result_words.h"
#include "sim/report/text_layout.h"

namespace orrery::sim {
namespace {

using Columns = std::span<const Compared>;
using Rows = std::vector<std::vector<std::string>>;

// Column width of a scenario's name; longer names wrap into further rows.
constexpr std::size_t kNameWidth = 19;

std::vector<std::string> name_lines(const std::string& name) {
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  while (at < name.size()) {
    const std::size_t end = std::min(name.find(' ', at), name.size());
    const std::string word = name.substr(at, end - at);
    const std::size_t joined = text_width(lines.back()) + 1 + text_width(word);
    if (lines.back().empty())
      lines.back() = word;
    else if (joined <= kNameWidth)
      lines.back() += " " + word;
    else
      lines.push_back(word);
    at = end + 1;
  }
  return lines;
}

void add_names(Columns columns, Rows& rows) {
  std::vector<std::vector<std::string>> names;
  std::size_t height = 1;
  for (const Compared& c : columns) {
    names.push_back(name_lines(c.result->scenario));
    height = std::max(height, names.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::vector<std::string> row{""};
    for (const auto& name : names) row.push_back(line < name.size() ? name[line] : "");
    rows.push_back(std::move(row));
  }
}

void add_row(Columns columns, Rows& rows, const std::string& what,
             const std::function<std::string(const scenarios::Scenario&, const Result&)>& cell) {
  std::vector<std::string> row{what};
  for (const Compared& c : columns) row.push_back(cell(*c.scenario, *c.result));
  if (std::any_of(row.begin() + 1, row.end(), [](const std::string& text) { return !text.empty(); }))
    rows.push_back(std::move(row));
}

// "GPU" where any of them is on GPUs.
std::string device_of(Columns columns) {
  for (const Compared& c : columns)
    if (device_word(*c.scenario) == "GPU") return "GPU";
  return "rank";
}

void add_plan(Columns columns, Rows& rows) {
  using scenarios::Scenario;
  add_row(columns, rows, device_of(columns) + "s",
          [](const Scenario& s, const Result&) { return fmt::format("{}", s.parallel.world()); });
  add_row(columns, rows, "tp x pp x dp", [](const Scenario& s, const Result&) {
    return fmt::format("{} x {} x {}", s.parallel.tp, s.parallel.pp, s.parallel.dp);
  });
  add_row(columns, rows, "cp", [](const Scenario& s, const Result&) {
    return s.parallel.cp == 1 ? std::string() : fmt::format("{} ({})", s.parallel.cp, scenarios::word(s.parallel.context_method));
  });
  add_row(columns, rows, "ZeRO, recompute", [](const Scenario& s, const Result&) {
    return fmt::format("{}, {}", s.parallel.zero, scenarios::word(s.training.recompute));
  });
  add_row(columns, rows, "verdict",
          [](const Scenario&, const Result& r) { return std::string(name(r.verdict)); });
}

void add_time(Columns columns, Rows& rows) {
  using scenarios::Scenario;
  add_row(columns, rows, "step time",
          [](const Scenario&, const Result& r) { return seconds_text(r.step_time_s.value); });
  add_row(columns, rows, "  80 % interval", [](const Scenario&, const Result& r) {
    return seconds_text(r.step_time_s.low) + " .. " + seconds_text(r.step_time_s.high);
  });
  add_row(columns, rows, "samples/s",
          [](const Scenario&, const Result& r) { return number_text(r.samples_per_s); });
  add_row(columns, rows, "tokens/s a " + device_of(columns),
          [](const Scenario&, const Result& r) { return number_text(r.tokens_per_s_per_gpu); });
  add_row(columns, rows, "TFLOP/s a " + device_of(columns),
          [](const Scenario&, const Result& r) { return number_text(r.model_tflops_per_gpu); });
  add_row(columns, rows, "MFU", [](const Scenario&, const Result& r) { return percent_text(r.mfu); });
  add_row(columns, rows, "HFU", [](const Scenario&, const Result& r) { return percent_text(r.hfu); });
  for (std::size_t i = 0; i < kShares; ++i)
    add_row(columns, rows, std::string(words_for(static_cast<Share>(i))),
            [i](const Scenario&, const Result& r) {
              const double share = r.step_time_s.value > 0.0 ? r.waterfall_s[i] / r.step_time_s.value : 0.0;
              return share < 0.0005 ? std::string() : percent_text(share);
            });
  add_row(columns, rows, "transfers, all",
          [](const Scenario&, const Result& r) { return percent_text(r.communication_total); });
}

void add_memory(Columns columns, Rows& rows) {
  using scenarios::Scenario;
  add_row(columns, rows, "memory",
          [](const Scenario&, const Result& r) { return human_bytes(r.stages[r.worst_stage].total); });
  add_row(columns, rows, "  of the " + device_of(columns), [](const Scenario&, const Result& r) {
    return percent_text(static_cast<double>(r.stages[r.worst_stage].total.count()) /
                        static_cast<double>(r.capacity.count()));
  });
  for (std::size_t k = 0; k < schedule::kBufferKinds; ++k)
    add_row(columns, rows, "  " + std::string(memory_key(static_cast<schedule::BufferKind>(k))),
            [k](const Scenario&, const Result& r) {
              const Bytes bytes = r.stages[r.worst_stage].memory.by_kind[k];
              return bytes == Bytes() ? std::string() : human_bytes(bytes);
            });
  add_row(columns, rows, "  context and the like",
          [](const Scenario&, const Result& r) { return human_bytes(fixed_bytes(r.stages[r.worst_stage])); });
  add_row(columns, rows, "host memory of a node", [](const Scenario&, const Result& r) {
    return r.host_bytes == Bytes() ? std::string() : human_bytes(r.host_bytes);
  });
}

std::string measured_table(Columns columns) {
  Rows rows{{"Predicted beside measured", "measured", "predicted", "error"}};
  for (const Compared& c : columns) {
    const std::vector<MeasuredRow> measured = measured_rows(*c.scenario, *c.result);
    if (measured.empty()) continue;
    rows.push_back({c.result->scenario});
    for (const MeasuredRow& row : measured) {
      rows.push_back({"  " + row.what, quantity_text(row.measured, row.unit),
                      quantity_text(row.predicted, row.unit), fmt::format("{:+.1f} %", 100.0 * row.error())});
    }
  }
  return rows.size() > 1 ? "\n" + table_text(rows) : std::string();
}

}  // namespace

std::string compare_report(std::span<const Compared> columns) {
  constexpr std::size_t kPerTable = 3;
  std::string text;
  for (std::size_t first = 0; first < columns.size(); first += kPerTable) {
    const Columns part = columns.subspan(first, std::min(kPerTable, columns.size() - first));
    Rows rows;
    add_names(part, rows);
    add_plan(part, rows);
    rows.push_back({""});
    add_time(part, rows);
    rows.push_back({""});
    add_memory(part, rows);
    text += (first == 0 ? "" : "\n") + table_text(rows);
  }
  return text + measured_table(columns);
}

}  // namespace orrery::sim
