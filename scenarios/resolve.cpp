// The way of a scenario: bases merged, read, solved, policy filled in, checked. Every step goes as far as it
// can, so that one reading shows all errors.
#include <utility>

#include "base/json.h"
#include "base/inherit.h"
#include "scenarios/reader.h"
#include "scenarios/rules.h"
#include "scenarios/scenario.h"

namespace orrery::scenarios {

Scenario resolve_scenario(const Json& json, Diagnostics& diagnostics) {
  Diagnostics found;
  Draft draft = read_draft(inherit(json, found), found);
  apply(solving_rules(), draft, found);
  if (draft.json.is_object()) read_policy_parts(draft, found);
  apply(shape_rules(), draft, found);
  apply(expert_rules(), draft, found);
  apply(framework_rules(), draft, found);
  apply(megatron_rules(), draft, found);
  apply(deepspeed_rules(), draft, found);
  apply(torch_rules(), draft, found);
  apply(precision_rules(), draft, found);
  apply(sharding_rules(), draft, found);
  apply(pipeline_rules(), draft, found);
  apply(context_rules(), draft, found);
  apply(size_rules(), draft, found);
  if (!found.has_errors()) apply(advice_rules(), draft, found);
  for (const Diagnostic& each : found.all())
    if (each.severity == Severity::warning) draft.scenario.warnings.push_back(each);
  forward(found, diagnostics);
  return std::move(draft.scenario);
}

Scenario read_scenario(const std::string& path) {
  const Json json = read_json(path);
  Diagnostics diagnostics;
  Scenario scenario = resolve_scenario(json, diagnostics);
  diagnostics.throw_if_errors();
  return scenario;
}

}  // namespace orrery::scenarios
