// A rule reads a Draft, reports what is wrong with its true reason and the nearest legal values, and may set
// what it solved. Rules stand in tables, in order; one runs only when all it `needs` is known, and what it
// `gives` is known when it found nothing wrong. So one mistake gives one message, and independent mistakes
// all appear at once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/draft.h"

namespace orrery::scenarios {

struct Rule {
  std::string_view name;
  std::string_view says;  // one line, for the documentation
  std::uint32_t needs = 0;
  std::uint32_t gives = 0;
  void (*check)(Draft&, Diagnostics&) = nullptr;
};

// Solve "auto" and fill in what follows: the world, the batch equation, the stages.
const std::vector<Rule>& solving_rules();
// Check the solved plan.
const std::vector<Rule>& shape_rules();      // does the model divide over the plan
const std::vector<Rule>& expert_rules();     // does the plan suit the experts
const std::vector<Rule>& framework_rules();  // does the framework, and the hardware, do this at all
const std::vector<Rule>& megatron_rules();
const std::vector<Rule>& deepspeed_rules();
const std::vector<Rule>& torch_rules();
const std::vector<Rule>& precision_rules();  // which GPUs and shapes have low-precision products
const std::vector<Rule>& sharding_rules();   // can states be spread so, and gathered weights stay so long
const std::vector<Rule>& pipeline_rules();   // does the pipeline schedule go with the rest
const std::vector<Rule>& context_rules();    // do sequence, heads and kernels go with context parallelism
const std::vector<Rule>& size_rules();       // is it computable
const std::vector<Rule>& advice_rules();     // legal, but probably not meant: warnings

// All tables, in the order of the reference (docs/reference/rules.md), and that list.
struct RuleTable {
  std::string_view title;
  const std::vector<Rule>& rules;
};
std::vector<RuleTable> rule_tables();
std::string render_rules();

void apply(const std::vector<Rule>& rules, Draft& draft, Diagnostics& diagnostics);

}  // namespace orrery::scenarios
