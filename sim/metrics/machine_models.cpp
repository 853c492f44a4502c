#include "sim/metrics/machine_models.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "sim/cost/analytic_cost.h"
#include "sim/cost/stack_cost.h"
#include "sim/cost/table_cost.h"
#include "sim/network/measured_network.h"

namespace orrery::sim {
namespace {

constexpr std::size_t kNamed = 3;  // kernels that a warning names for each stand-in

// "add.fp32, fill.fp32 and 2 more (instead: ...)" for each stand-in.
std::string words_of(const std::vector<LackingKernel>& lacking) {
  std::map<std::string, std::vector<std::string>> by_stand_in;
  for (const LackingKernel& kernel : lacking) by_stand_in[kernel.instead].push_back(kernel.name);
  std::string text;
  for (const auto& [instead, kernels] : by_stand_in) {
    const std::size_t named = std::min(kernels.size(), kNamed);
    text +=
        fmt::format("{}{}", text.empty() ? "" : "; ",
                    fmt::join(kernels.begin(), kernels.begin() + static_cast<std::ptrdiff_t>(named), ", "));
    if (named < kernels.size()) text += fmt::format(" and {} more", kernels.size() - named);
    text += fmt::format(" (instead: {})", instead);
  }
  return text;
}

void add(const Place& place, std::string message, std::string hint, std::vector<Diagnostic>& found) {
  found.push_back({Severity::warning, place, std::move(message), std::move(hint)});
}

}  // namespace

MachineModels::MachineModels(const scenarios::Scenario& scenario) : scenario_(scenario) {
  make_cost();
  make_network();
}

MachineModels::~MachineModels() = default;

void MachineModels::make_cost() {
  const hardware::Cluster& cluster = scenario_.cluster;
  const hardware::Precision precision = scenario_.training.precision;
  if (cluster.gpu.kind == hardware::DeviceKind::gpu)
    cost_ = make_analytic_cost(cluster, precision, scenario_.offload.pinned);
  if (cost_ != nullptr && !scenario_.stack.name.empty()) cost_ = std::make_unique<StackCost>(std::move(cost_), scenario_.stack);
  CHECK(cost_ != nullptr || cluster.gpu.kernel_table != nullptr, cluster.gpu.name);
  if (cluster.gpu.kernel_table == nullptr) return;
  auto table = std::make_unique<TableCost>(cluster, precision, std::move(cost_));
  table_ = table.get();
  cost_ = std::move(table);
}

void MachineModels::make_network() {
  const hardware::Cluster& cluster = scenario_.cluster;
  if (cluster.transfers == nullptr && cluster.node.cores == 0) {
    network_ = std::make_unique<AlphaBeta>(cluster, scenario_.network);
    return;
  }
  auto measured = std::make_unique<MeasuredNetwork>(cluster, scenario_.network);
  measured_ = measured.get();
  network_ = std::move(measured);
}

std::vector<Diagnostic> MachineModels::advice() const {
  std::vector<Diagnostic> found;
  const Place& place = scenario_.origins.cluster;
  if (table_ != nullptr) {
    if (const std::vector<LackingKernel> lacking = table_->lacking(); !lacking.empty())
      add(place, "the kernel table lacks " + words_of(lacking),
          "calibrate again with this scenario among those given", found);
    for (const hardware::MeasuredKernel* const kernel : table_->unknown())
      add(kernel->place, fmt::format("no op runs a kernel called {}", kernel->name),
          "its points are not used; a slip, or another version of the program: calibrate again", found);
  }
  if (measured_ != nullptr) {
    if (const std::vector<std::string> lacking = measured_->lacking(); !lacking.empty())
      add(place, fmt::format("the transfer table has no curve of {}", fmt::join(lacking, ", ")),
          "calibrate again with this scenario among those given", found);
    for (const std::string& bend : measured_->bent())
      add(place, "a measured curve bends: " + bend,
          "it is used as it was measured; look for the cause, or measure again if it is none", found);
  }
  return found;
}

}  // namespace orrery::sim
