#include "scenarios/load.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "base/data_root.h"
#include "scenarios/override.h"

namespace orrery::scenarios {

Json read_shipped_json(const std::string& path) {
  const std::string found = find_file(path, nullptr);
  return read_json(found.empty() ? path : found);
}

namespace {

// What a file is that was given as a scenario and is another of Orrery's files; empty: it may be one.
struct OtherFile {
  std::string what, hint;
};
OtherFile other_file(const Json& json) {
  const auto has = [&](std::string_view key) { return json.find(key) != nullptr; };
  const auto schema = [&](std::string_view word) {
    const Json* found = json.find("schema");
    return found != nullptr && found->is_string() && found->string.starts_with(word);
  };
  if (!json.is_object() || has("base")) return {};
  if (schema("orrery-trace"))
    return {"a trace", "the scenario comes first, and the trace behind an option: orrery compare --measured TRACE SCENARIO"};
  if (has("traceEvents")) return {"a trace for Perfetto", "https://ui.perfetto.dev opens it; here a scenario file is needed"};
  if (has("model") || has("training") || has("parallel")) return {};
  if (has("layers") || has("hidden") || has("model_type") || has("architectures"))
    return {"a model", "a scenario names it: {\"model\": \"FILE\", \"cluster\": ..., \"training\": ...}; orrery model FILE shows it"};
  if (has("node") || has("nodes"))
    return {"a cluster", "a scenario names it: --set cluster=FILE; orrery cluster FILE shows it"};
  if (has("dense_peak")) return {"a GPU", "a cluster names it, and a scenario the cluster"};
  if (has("kernels") || has("curves")) return {"a table of measured times", "the scenario names the cluster file beside it"};
  return {};
}

void require_scenario(const Json& json) {
  const OtherFile other = other_file(json);
  if (other.what.empty()) return;
  const std::string name = json.place.source ? json.place.source->path : "";
  throw InputError(fmt::format("{}{}error: this is {}, and not a scenario\n  hint: {}\n", name, name.empty() ? "" : ": ", other.what,
                               other.hint));
}

}  // namespace

Scenario resolve_with(Json json, const std::vector<Assignment>& assignments) {
  require_scenario(json);
  for (const Assignment& each : assignments) json = apply_override(std::move(json), each.path, each.value);
  Diagnostics diagnostics;
  Scenario scenario = resolve_scenario(json, diagnostics);
  diagnostics.throw_if_errors();
  return scenario;
}

std::vector<Scenario> load_scenarios(const std::vector<std::string>& files, const std::vector<std::string>& sets) {
  std::vector<Assignment> assignments;
  for (const std::string& text : sets) assignments.push_back(parse_assignment(text));
  std::vector<Scenario> loaded;
  std::string errors;
  for (const std::string& file : files) {
    try {
      loaded.push_back(resolve_with(read_shipped_json(file), assignments));
    } catch (const InputError& error) {
      errors += error.what();
    }
  }
  if (!errors.empty()) throw InputError(errors);
  return loaded;
}

}  // namespace orrery::scenarios
