// Parallel plans by name, each stating only what it changes from one rank with one microbatch (plan_run.h's
// plain_scenario). Whatever performs schedules must give what one rank gives under all of them.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "scenarios/scenario.h"

namespace orrery::interpreter {

struct NamedPlan {
  std::string name;
  std::function<void(scenarios::Scenario&)> set;
};
inline void PrintTo(const NamedPlan& plan, std::ostream* out) { *out << plan.name; }
std::string test_name(const NamedPlan& plan);  // letters, digits and _ only

const std::vector<NamedPlan>& basic_plans();
const std::vector<NamedPlan>& recompute_plans();
const std::vector<NamedPlan>& tensor_plans();
const std::vector<NamedPlan>& pipeline_plans();
const std::vector<NamedPlan>& schedule_plans();  // beyond whole backwards in a loop of stages
const std::vector<NamedPlan>& data_plans();
const std::vector<NamedPlan>& sharding_plans();  // FSDP, HSDP, hpZ, accumulation without reduction
const std::vector<NamedPlan>& combined_plans();
const std::vector<NamedPlan>& context_plans();
const std::vector<NamedPlan>& overlap_plans();  // chunks of products, deferred gradients, FSDP1's orders of gathers

// The plain plan cut in two and more ways.
void tensor_parallel(scenarios::Scenario& s);
void sequence_parallel(scenarios::Scenario& s);
void three_dimensional(scenarios::Scenario& s);
void zero_stage(scenarios::Scenario& s, int stage);

}  // namespace orrery::interpreter
