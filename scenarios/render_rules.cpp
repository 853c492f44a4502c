// The list of docs/reference/rules.md, from the tables that are applied.
#include <fmt/format.h>

#include "scenarios/rules.h"

namespace orrery::scenarios {

std::vector<RuleTable> rule_tables() {
  return {{"Solved: the world, the batch, the stages", solving_rules()},
          {"Does the model divide over the plan", shape_rules()},
          {"Do the framework and the hardware do this", framework_rules()},
          {"Pipeline schedules", pipeline_rules()},
          {"Context parallelism", context_rules()},
          {"Mixtures of experts", expert_rules()},
          {"Megatron-LM", megatron_rules()},
          {"DeepSpeed", deepspeed_rules()},
          {"PyTorch: DDP, FSDP, torchtitan", torch_rules()},
          {"Low-precision products", precision_rules()},
          {"How states are spread", sharding_rules()},
          {"Is it computable", size_rules()},
          {"Legal, but probably not meant", advice_rules()}};
}

std::string render_rules() {
  std::string text;
  std::size_t count = 0;
  for (const RuleTable& table : rule_tables()) {
    text += fmt::format("\n### {}\n\n", table.title);
    for (const Rule& rule : table.rules)
      text += fmt::format("{}. {} (`{}`)\n", ++count, rule.says, rule.name);
  }
  return fmt::format("{} rules.\n", count) + text;
}

}  // namespace orrery::scenarios
