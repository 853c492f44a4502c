#include "runtime/calibrate/scenario_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/random.h"
#include "runtime/calibrate/default_scenarios.h"
#include "runtime/calibrate/kernel_catalog.h"
#include "runtime/calibrate/variations.h"
#include "scenarios/load.h"
#include "schedule/compile.h"
#include "schedule/memory.h"
#include "schedule/trace.h"

namespace orrery::runtime {
namespace {

using scenarios::Scenario;
using schedule::OpKind;
using schedule::Schedule;

constexpr std::int64_t kMostGrowth = 8;  // of the layers

using Keys = std::set<std::pair<std::string, std::array<std::int64_t, schedule::kMaxKernelDims>>>;

Json json_of(const std::string& name, const std::string& text) {
  Diagnostics diagnostics;
  Json json = parse_json(std::make_shared<SourceFile>(SourceFile{name, text}), diagnostics);
  diagnostics.throw_if_errors();
  return json;
}

Scenario resolved(const Json& json, const std::vector<std::string>& sets) {
  std::vector<scenarios::Assignment> assignments;
  for (const std::string& set : sets) assignments.push_back(scenarios::parse_assignment(set));
  return scenarios::resolve_with(json, assignments);
}

std::vector<std::string> joined(std::vector<std::string> sets, const std::vector<std::string>& more) {
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

Keys keys_of(const Schedule& schedule) {
  KernelCatalog catalog;
  for (const schedule::Program& program : schedule.programs) catalog.add(schedule, program);
  Keys keys;
  for (const TimedKernel& kernel : catalog.all()) keys.emplace(kernel.key.name, kernel.key.dims);
  return keys;
}

std::int64_t memory_of(const Schedule& schedule) {
  std::int64_t most = 0;
  for (const schedule::Program& program : schedule.programs) {
    const schedule::MemoryPeak peak = schedule::memory_peak(program);
    most = std::max(most, (peak.peak + peak.host_peak).count());
  }
  return most;
}

// Without communication buffers: those of ZeRO are as large as the framework's buckets, and little of them is used.
std::int64_t touched_memory(const Schedule& schedule) {
  std::int64_t most = 0;
  for (const schedule::Program& program : schedule.programs) {
    const schedule::MemoryPeak peak = schedule::memory_peak(program);
    const Bytes buckets = peak.by_kind[static_cast<std::size_t>(schedule::BufferKind::communication)];
    most = std::max(most, (peak.peak + peak.host_peak - buckets).count());
  }
  return most;
}

std::optional<hardware::TransferOperation> operation_of(OpKind kind) {
  using hardware::TransferOperation;
  if (schedule::is_point_to_point(kind)) return TransferOperation::send_recv;
  if (kind == OpKind::all_reduce) return TransferOperation::all_reduce;
  if (kind == OpKind::reduce_scatter) return TransferOperation::reduce_scatter;
  if (kind == OpKind::all_gather) return TransferOperation::all_gather;
  if (kind == OpKind::all_to_all) return TransferOperation::all_to_all;
  if (kind == OpKind::broadcast) return TransferOperation::broadcast;
  return std::nullopt;
}

class GridMaker {
 public:
  explicit GridMaker(const GridRequest& request) : request_(request) {}

  Grid make() {
    read();
    for (const Source& source : sources_) add(source.name, source, {}, true);
    std::size_t most = 0;
    for (Source& source : sources_) {
      source.variations = variations_of(source.scenario);
      most = std::max(most, source.variations.size());
    }
    for (std::size_t v = 0; v < most; ++v)
      for (const Source& source : sources_)
        if (v < source.variations.size())
          add(source.name + ", " + source.variations[v].name, source, source.variations[v].sets, false);
    return std::move(grid_);
  }

 private:
  struct Source {
    std::string name;
    Json json;
    Scenario scenario;
    std::vector<std::string> sets;  // the request's, and the cluster that stands in
    std::vector<Variation> variations;
  };

  void read() {
    std::string errors;
    if (request_.files.empty())
      for (const ScenarioText& text : default_scenarios(request_.ranks))
        read(text.name, json_of(text.name, text.json));
    for (const std::string& file : request_.files) {
      try {
        read(file, scenarios::read_shipped_json(file));
      } catch (const InputError& error) {
        errors += error.what();
      }
    }
    if (!errors.empty()) throw InputError(errors);
  }

  void read(const std::string& name, Json json) {
    Source source{name, std::move(json), {}, request_.sets, {}};
    try {
      source.scenario = resolved(source.json, source.sets);
    } catch (const InputError& error) {
      source.sets.push_back("cluster=" + unmeasured_cluster(request_.ranks));
      const std::optional<Scenario> without = resolved_or_none(source.json, source.sets);
      if (!without) throw;
      source.scenario = *without;
      grid_.notes.push_back(
          fmt::format("{}: its cluster cannot be read yet; taken as {} ranks", name, request_.ranks));
    }
    sources_.push_back(std::move(source));
  }

  static std::optional<Scenario> resolved_or_none(const Json& json, const std::vector<std::string>& sets) {
    try {
      return resolved(json, sets);
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  // Where the file states how many microbatches there are, that gives way to what the variation says of the
  // batch.
  static std::optional<Scenario> varied(const Source& source, const std::vector<std::string>& sets) {
    for (const char* solved : {"", "training.accumulation=auto", "training.microbatches=auto"}) {
      std::vector<std::string> all = joined(source.sets, sets);
      if (*solved != '\0') all.emplace_back(solved);
      if (std::optional<Scenario> scenario = resolved_or_none(source.json, all)) return scenario;
    }
    return std::nullopt;
  }

  void add(const std::string& name, const Source& source, const std::vector<std::string>& sets,
           bool is_scenario) {
    const std::optional<Scenario> scenario = is_scenario ? source.scenario : varied(source, sets);
    if (!scenario) return;  // the rules refuse it
    const Schedule whole = schedule::compile(*scenario);
    const Keys keys = keys_of(whole);
    const bool adds =
        std::any_of(keys.begin(), keys.end(), [&](const auto& key) { return !known_.contains(key); });
    if (is_scenario) note_transfers(whole);
    if (!adds && !is_scenario) return;
    Schedule schedule = cut_down(source, sets, *scenario, whole, keys);
    if (memory_of(schedule) > request_.most_bytes) {
      const std::string needs =
          fmt::format("a rank needs {:.1f} GiB of memory", static_cast<double>(memory_of(schedule)) / (1 << 30));
      grid_.notes.push_back(fmt::format("{}: left out, {}", name, needs));
      if (is_scenario) grid_.too_large.push_back(fmt::format("{} ({})", name, needs));
      return;
    }
    known_.insert(keys.begin(), keys.end());
    grid_.fingerprint = mix_bits(grid_.fingerprint ^ schedule::fingerprint(schedule));
    grid_.workloads.push_back({name, std::make_shared<const Schedule>(std::move(schedule)), is_scenario});
  }

  // The smallest of a few sizes that has the same kernels and does not fit into the caches, as a model worth predicting
  // does not: with more layers than the scenario's, if it must be.
  Schedule cut_down(const Source& source, const std::vector<std::string>& sets, const Scenario& scenario,
                    const Schedule& whole, const Keys& keys) const {
    const std::int64_t stages = scenario.parallel.pp * scenario.parallel.vpp;
    for (std::int64_t layers = stages; layers <= kMostGrowth * scenario.model.layers; layers *= 2)
      for (const std::int64_t microbatches : {std::int64_t{1}, std::int64_t{2}, scenario.parallel.pp}) {
        if (microbatches > scenario.training.microbatches) continue;
        const std::optional<Scenario> other =
            varied(source, joined(sets, shorter(scenario, layers, microbatches).sets));
        if (!other) continue;
        Schedule schedule = schedule::compile(*other);
        if (touched_memory(schedule) >= request_.cache_bytes && keys_of(schedule) == keys) return schedule;
      }
    return whole;
  }

  void note_transfers(const Schedule& schedule) {
    grid_.world = std::max(grid_.world, schedule.world);
    for (const schedule::Program& program : schedule.programs)
      for (const schedule::Op& op : program.ops)
        if (const auto operation = operation_of(op.kind))
          grid_.transfers.emplace(*operation,
                                  schedule::is_point_to_point(op.kind) ? 2 : schedule.groups[op.group].size);
  }

  const GridRequest& request_;
  std::vector<Source> sources_;
  Keys known_;
  Grid grid_;
};

}  // namespace

Grid make_grid(const GridRequest& request) { return GridMaker(request).make(); }

}  // namespace orrery::runtime
