#include "sim/commands/schedule_file.h"

#include <fmt/format.h>

namespace orrery::sim {

std::string shape_of(const schedule::Schedule& schedule) {
  std::size_t ops = 0;
  for (const schedule::Program& program : schedule.programs) ops += program.ops.size();
  const auto counted = [](auto count, const char* what) {
    return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  return fmt::format("{} for {}, {}", counted(schedule.programs.size(), "program"),
                     counted(schedule.world, "rank"), counted(ops, "distinct op"));
}

std::string_view findings_word(const std::vector<schedule::Finding>& findings) {
  if (findings.empty()) return "sound";
  return schedule::is_sound(findings) ? "not checked in full" : "not sound";
}

std::string findings_text(const std::vector<schedule::Finding>& findings) {
  std::string text;
  for (const schedule::Finding& finding : findings) {
    text += fmt::format("    {}\n", finding.message);
    for (const std::string& line : finding.lines) text += fmt::format("      {}\n", line);
  }
  return text;
}

}  // namespace orrery::sim
