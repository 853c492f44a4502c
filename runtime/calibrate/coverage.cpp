#include "runtime/calibrate/coverage.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "hardware/reservations.h"
#include "runtime/machine/memory.h"

namespace orrery::runtime {
namespace {

// A quiet machine takes the core away for its own work in one of some hundred timings.
constexpr double kBusyShare = 0.05;

std::string missing(const Coverage& c) {
  return fmt::format("{}{} of {} scenario{}: {}", hardware::kNotMeasured, c.not_measured.size(), c.scenarios,
                     c.scenarios == 1 ? "" : "s", fmt::join(c.not_measured, ", "));
}
std::string missing_messages(const Coverage& c) {
  return fmt::format("{}messages: {}", hardware::kNotMeasured, fmt::join(c.messages, ", "));
}
std::string too_large(const Coverage& c) {
  return fmt::format("{}too large for this machine: {}", hardware::kNotMeasured, fmt::join(c.too_large, ", "));
}
std::string busy(const Coverage& c) {
  return fmt::format("{}{:.0f} % of the kernels' timings lost their core to another program", hardware::kBusyMachine,
                     100.0 * c.lost_core_share);
}

std::string warning(const std::string& what, const std::string& hint) {
  return fmt::format("warning: {}\n  hint: {}\n", what, hint);
}

}  // namespace

Coverage coverage_of(const Grid& grid, const KernelPhase& kernels, const TransferPhase& transfers) {
  Coverage c{.scenarios = grid.too_large.size(), .not_measured = {}, .too_large = grid.too_large, .messages = {}};
  for (std::size_t w = 0; w < grid.workloads.size(); ++w) {
    if (!grid.workloads[w].is_scenario) continue;
    ++c.scenarios;
    if (!kernels.is_measured(w)) c.not_measured.push_back(grid.workloads[w].name);
  }
  for (const Exchange& exchange : grid.transfers) {
    const auto found = transfers.curves().find(exchange);
    if (found == transfers.curves().end() || found->second.points.empty())
      c.messages.push_back(fmt::format("{} among {}", hardware::name(exchange.first), exchange.second));
  }
  c.lost_core_share = kernels.lost_core_share();
  return c;
}

std::vector<std::string> notes_of(const Coverage& c) {
  std::vector<std::string> notes;
  if (!c.not_measured.empty()) notes.push_back(missing(c));
  if (!c.messages.empty()) notes.push_back(missing_messages(c));
  if (!c.too_large.empty()) notes.push_back(too_large(c));
  if (c.lost_core_share > kBusyShare) notes.push_back(busy(c));
  return notes;
}

std::string coverage_warnings(const Coverage& c, bool quick) {
  const std::string more_time = quick ? "the same command with --resume measures what is missing; without --quick there is more time"
                                      : "the same command with --resume measures what is missing";
  std::string text;
  if (!c.not_measured.empty()) text += warning(missing(c), more_time);
  if (!c.messages.empty()) text += warning(missing_messages(c), more_time);
  if (!c.too_large.empty())
    text += warning(too_large(c), kMemoryHint);
  if (c.lost_core_share > kBusyShare) text += warning(busy(c), "calibrate again when nothing else runs");
  return text;
}

}  // namespace orrery::runtime
