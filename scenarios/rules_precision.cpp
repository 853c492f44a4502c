// Which GPUs and shapes low-precision products have. Sources: Transformer Engine's checks (fp8 operands are
// multiples of 16), OCP Microscaling Formats 1.0 (blocks of 32), NVIDIA's Hopper and Blackwell documentation
// of which formats they multiply.
#include <fmt/format.h>

#include "scenarios/divisors.h"
#include "scenarios/rules.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

bool low(const Draft& d) { return is_low(d.scenario.training.precision); }

void scaling_of_precision(Draft& d, Diagnostics& diagnostics) {
  const Scaling scaling = d.scenario.recipe.scaling;
  const bool four = d.scenario.training.precision == hardware::Precision::fp4;
  if (!low(d) || (scaling != Scaling::none && four == (scaling == Scaling::nvfp4))) return;
  diagnostics.error(
      d.at("recipe.scaling"),
      fmt::format("{} scaling is not for {} products", word(scaling), word(d.scenario.training.precision)),
      four ? "use \"nvfp4\"" : "use \"delayed\", \"current\", \"block\" or \"mx\"");
}

void scaling_in_hardware(Draft& d, Diagnostics& diagnostics) {
  const hardware::Gpu& gpu = d.scenario.cluster.gpu;
  const Scaling scaling = d.scenario.recipe.scaling;
  if ((scaling == Scaling::nvfp4) != (d.scenario.training.precision == hardware::Precision::fp4))
    return;  // said above
  if (!low(d) || gpu.compute_capability == 0 || gpu.peak(d.scenario.training.precision).value() == 0.0)
    return;
  if ((scaling == Scaling::mx || scaling == Scaling::nvfp4) && gpu.compute_capability < 100)
    diagnostics.error(d.at("recipe.scaling"),
                      fmt::format("{} multiplies fp8 with one scale a tensor; blocks of {} with scales of "
                                  "their own are Blackwell's",
                                  gpu.name, scaling == Scaling::mx ? 32 : 16),
                      "use \"delayed\", \"current\" or \"block\"");
  if (scaling == Scaling::block && gpu.compute_capability < 90)
    diagnostics.error(d.at("recipe.scaling"),
                      fmt::format("there are no block-scaled fp8 products for {}", gpu.name),
                      "use \"delayed\" or \"current\"");
}

void shapes_of_products(Draft& d, Diagnostics& diagnostics) {
  const Scenario& s = d.scenario;
  if (!low(d)) return;
  const std::int64_t by = s.recipe.scaling == Scaling::block ? 128
                          : s.recipe.scaling == Scaling::mx  ? 32
                                                             : 16;
  const auto check = [&](const char* what, std::int64_t columns) {
    if (columns % by == 0) return;
    diagnostics.error(d.at("training.precision"),
                      fmt::format("{} products with {} scaling need multiples of {}, but {} is {}",
                                  word(s.training.precision), word(s.recipe.scaling), by, what, columns),
                      "use \"bf16\", or another tp or model");
  };
  check("hidden", s.model.hidden);
  check("ffn_hidden / tp", s.model.ffn_hidden / s.parallel.tp);
  check("heads x head_dim / tp", s.model.heads * s.model.head_dim / s.parallel.tp);
  const std::int64_t tokens = s.training.micro_batch * s.training.sequence_length;
  if (tokens % 16 != 0)
    diagnostics.error(
        d.at("training.micro_batch"),
        fmt::format("the weight gradient of an {} product sums over {} tokens, which is no multiple of 16",
                    word(s.training.precision), tokens),
        fmt::format("use a sequence_length of {}",
                    alternatives(nearest_multiples(s.training.sequence_length, 16))));
}

void framework_has_low_products(Draft& d, Diagnostics& diagnostics) {
  const Framework f = d.scenario.framework;
  if (!low(d) || (f != Framework::ddp && f != Framework::deepspeed)) return;
  diagnostics.error(d.at("training.precision"),
                    fmt::format("{} has no {} products of its own: Transformer Engine's layers come with "
                                "Megatron, torchao's with torchtitan",
                                word(f), word(d.scenario.training.precision)),
                    "use \"bf16\", or framework \"megatron\" or \"fsdp\"");
}

}  // namespace

const std::vector<Rule>& precision_rules() {
  static const std::vector<Rule> rules = {
      {"scaling", "fp8 and fp4 products have scalings of their own", kTrainingKnown | kPolicyKnown, 0,
       scaling_of_precision},
      {"scaling in hardware", "block scales of mx and nvfp4 need Blackwell, those of block Hopper",
       kClusterKnown | kTrainingKnown | kPolicyKnown, 0, scaling_in_hardware},
      {"low shapes", "operands of fp8 and fp4 products are multiples of their blocks",
       kModelKnown | kBatchKnown | kPolicyKnown, 0, shapes_of_products},
      {"low framework", "DeepSpeed and DDP have no fp8 or fp4 products", kTrainingKnown, 0,
       framework_has_low_products},
  };
  return rules;
}

}  // namespace orrery::scenarios
