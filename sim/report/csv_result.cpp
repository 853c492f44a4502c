#include "sim/report/csv_result.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "sim/report/plan_lines.h"
#include "sim/report/result_words.h"

namespace orrery::sim {
namespace {

std::vector<std::pair<std::string, std::string>> columns(const scenarios::Scenario& s, const Result& r) {
  const auto n = [](double value) { return fmt::format("{}", value); };
  std::vector<std::pair<std::string, std::string>> c = {{"scenario", csv_field(r.scenario)},
                                                        {"plan", csv_field(short_plan(s))},
                                                        {"gpus", fmt::format("{}", s.parallel.world())},
                                                        {"verdict", std::string(name(r.verdict))},
                                                        {"step_time_s.value", n(r.step_time_s.value)},
                                                        {"step_time_s.low", n(r.step_time_s.low)},
                                                        {"step_time_s.high", n(r.step_time_s.high)},
                                                        {"samples_per_s", n(r.samples_per_s)},
                                                        {"tokens_per_s", n(r.tokens_per_s)},
                                                        {"tokens_per_s_per_gpu", n(r.tokens_per_s_per_gpu)},
                                                        {"model_tflops_per_gpu", n(r.model_tflops_per_gpu)},
                                                        {"mfu", n(r.mfu)},
                                                        {"hfu", n(r.hfu)},
                                                        {"comm.total_fraction", n(r.communication_total)},
                                                        {"comm.exposed_fraction", n(r.communication_exposed)},
                                                        {"bubble_fraction", n(r.bubble_fraction)}};
  for (std::size_t i = 0; i < kShares; ++i)
    c.emplace_back(fmt::format("waterfall.{}", key_of(static_cast<Share>(i))), n(r.waterfall_s[i]));
  const StageResult* worst = r.stages.empty() ? nullptr : &r.stages[r.worst_stage];
  const auto bytes = [](Bytes b) { return fmt::format("{}", b.count()); };
  c.emplace_back("memory.peak_bytes", worst == nullptr ? "" : bytes(worst->memory.peak));
  c.emplace_back("memory.total_bytes", worst == nullptr ? "" : bytes(worst->total));
  c.emplace_back("memory.capacity_bytes", bytes(r.capacity));
  c.emplace_back("memory.host_bytes", bytes(r.host_bytes));
  c.emplace_back("warnings", fmt::format("{}", r.warnings.size()));
  c.emplace_back("fingerprint", fmt::format("{:016x}", r.fingerprint));
  return c;
}

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

std::string csv_header() {
  std::string line;
  for (const auto& column : columns({}, {})) line += (line.empty() ? "" : ",") + column.first;
  return line;
}

std::string csv_row(const scenarios::Scenario& s, const Result& r) {
  std::string line;
  bool first = true;
  for (const auto& column : columns(s, r)) {
    line += (first ? "" : ",") + column.second;
    first = false;
  }
  return line;
}

}  // namespace orrery::sim
