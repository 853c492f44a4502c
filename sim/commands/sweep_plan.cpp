#include "sim/commands/sweep_plan.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "base/inherit.h"
#include "scenarios/override.h"
#include "sim/commands/scenario_files.h"

namespace orrery::sim {
namespace {

constexpr std::size_t kMostCombinations = 1'000'000;

// FNV-1a, 64 bits: not to keep anybody out, only to tell sweeps apart.
class Hash {
 public:
  void add(std::string_view text) {
    for (const char c : text) byte(static_cast<unsigned char>(c));
    byte(0);
  }
  void add(const Json& json) {
    byte(static_cast<unsigned char>(json.kind));
    add(json.string);
    add(fmt::format("{} {} {}", json.boolean, json.integer, json.number));
    for (const Json& item : json.items) add(item);
    for (const JsonMember& member : json.members) {
      add(member.key);
      add(member.value);
    }
    byte(0xff);
  }
  std::string text() const { return fmt::format("{:016x}", state_); }

 private:
  void byte(unsigned char b) { state_ = (state_ ^ b) * 0x100000001b3ULL; }
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

// The scenario with its bases, and the files of its model, cluster and GPU. What cannot be read is an error
// of the rows, not of the sweep: another value of the field may mend it.
void add_content(Hash& hash, const Json& scenario) {
  Diagnostics ignored;
  const Json merged = inherit(scenario, ignored);
  hash.add(merged);
  for (const char* part : {"model", "cluster"}) {
    const Json* value = merged.find(part);
    if (value == nullptr) continue;
    const Json object = object_or_file(*value, part, ignored);
    hash.add(object);
    if (const Json* gpu = object.find("gpu")) hash.add(object_or_file(*gpu, "gpu", ignored));
  }
}

void check_axes(const SweepPlan& plan) {
  std::set<std::string> seen;
  for (const scenarios::Axis& axis : plan.axes) {
    if (!seen.insert(axis.path).second)
      throw InputError(
          fmt::format("error: {} is set twice\n  hint: one --set with all its values\n", axis.path));
    for (const Json& scenario : plan.scenarios)
      scenarios::apply_override(scenario, axis.path, axis.values.front().value);
  }
  std::size_t size = plan.files.size();
  for (const scenarios::Axis& axis : plan.axes) {
    if (axis.values.size() > kMostCombinations / size)
      throw InputError(
          fmt::format("error: more than {} combinations\n  hint: fewer values\n", kMostCombinations));
    size *= axis.values.size();
  }
}

std::string identify(const SweepPlan& plan) {
  Hash hash;
  hash.add(ORRERY_VERSION);
  hash.add(plan.full ? "full" : "");
  for (std::size_t f = 0; f < plan.files.size(); ++f) {
    hash.add(plan.files[f]);
    add_content(hash, plan.scenarios[f]);
  }
  for (const scenarios::Axis& axis : plan.axes) {
    hash.add(axis.path);
    for (const scenarios::Assignment& value : axis.values) {
      hash.add(value.value);
      if (value.value.is_string() && may_name_file(axis.path)) {
        Diagnostics ignored;
        hash.add(object_or_file(value.value, axis.path, ignored));
      }
    }
  }
  return hash.text();
}

}  // namespace

std::size_t SweepPlan::size() const {
  std::size_t size = files.size();
  for (const scenarios::Axis& axis : axes) size *= axis.values.size();
  return size;
}

SweepPlan::Combination SweepPlan::at(std::size_t index) const {
  Combination combination;
  combination.assignments.resize(axes.size());
  for (std::size_t a = axes.size(); a-- > 0;) {
    const std::vector<scenarios::Assignment>& values = axes[a].values;
    combination.assignments[a] = values[index % values.size()];
    index /= values.size();
  }
  combination.file = index;
  return combination;
}

SweepPlan plan_sweep(const std::vector<std::string>& files, const std::vector<std::string>& sets, bool full) {
  SweepPlan plan;
  plan.files = files;
  plan.full = full;
  for (const std::string& set : sets) plan.axes.push_back(scenarios::parse_axis(set));
  for (const std::string& file : files) plan.scenarios.push_back(scenarios::read_shipped_json(file));
  check_axes(plan);
  plan.id = identify(plan);
  return plan;
}

}  // namespace orrery::sim
