// The table of docs/reference/frameworks.md, from the policies themselves.
#include <fmt/format.h>

#include "scenarios/fields.h"
#include "scenarios/policy.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

std::string text(When when) {
  switch (when) {
    case When::never:
      return "no";
    case When::always:
      return "yes";
    case When::zero_3:
      return "with ZeRO-3";
    case When::interleaved:
      return "in the interleaved schedule";
    case When::no_pipeline:
      return "without a pipeline";
  }
  return "?";
}

std::string text(bool value) { return value ? "yes" : "no"; }

std::string text(const BucketRule& rule) {
  if (rule.bytes == 0 && rule.elements == 0) return "the unit";
  std::string size = rule.bytes > 0 ? fmt::format("{} MiB", rule.bytes >> 20)
                     : rule.elements_per_dp > 0
                         ? fmt::format("max({}M, {}M x dp) elements", rule.elements / 1'000'000,
                                       rule.elements_per_dp / 1'000'000)
                         : fmt::format("{}M elements", rule.elements / 1'000'000);
  return rule.only_overlapped ? size + "; one bucket where nothing overlaps" : size;
}

std::string prefetch(const Policy& p) {
  if (p.prefetch_elements == 0) return "1 layer";
  return fmt::format("{}M elements in whole layers, at least one", p.prefetch_elements / 1'000'000);
}

template <typename Cell>
std::string row(std::string_view label, Cell&& cell) {
  std::string line = fmt::format("| {} |", label);
  for (const Policy& policy : policies()) line += fmt::format(" {} |", cell(policy));
  return line + "\n";
}

}  // namespace

std::string render_policies() {
  const auto recipe = [](hardware::Precision precision) {
    return [precision](const Policy& p) { return describe(recipe_of(p, precision, Optimizer::adam, true)); };
  };
  std::string table =
      row("", [](const Policy& p) { return "`" + word(p.framework) + "`"; }) + "|---|---|---|---|---|---|---|\n";
  table += row("fp16, bf16 with Adam", recipe(hardware::Precision::bf16));
  table += row("fp32, tf32 with Adam", recipe(hardware::Precision::fp32));
  table += row("`overlap.gradient_reduce`", [](const Policy& p) { return text(p.gradient_reduce); });
  table += row("`overlap.parameter_gather`", [](const Policy& p) { return text(p.parameter_gather); });
  table += row("`overlap.pipeline`", [](const Policy& p) { return text(p.pipeline); });
  table += row("`overlap.tensor_backward`", [](const Policy& p) { return text(p.tensor_backward); });
  table += row("`overlap.bucket_elements`", [](const Policy& p) { return text(p.bucket); });
  table += row("`overlap.bucket_buffers`",
               [](const Policy& p) { return std::string(p.stages_buckets ? "ZeRO: 1, overlapped 2" : "0"); });
  table += row("`overlap.prefetch_units`", prefetch);
  table += row("`sharding.reshard_after_forward`", [](const Policy& p) { return text(p.reshard_after_forward); });
  table += row("`sharding.reshard_after_backward`", [](const Policy& p) { return text(p.reshard_after_backward); });
  table += row("`sharding.root_reshards`", [](const Policy& p) { return text(p.root_reshards); });
  table += row("`sharding.reduce`: every microbatch", [](const Policy& p) { return text(p.reduce_every_microbatch); });
  table += row("`sharding.limit_all_gathers`", [](const Policy& p) { return text(p.limit_all_gathers); });
  table += row("`sharding.forward_prefetch`", [](const Policy& p) { return text(p.forward_prefetch); });
  table += row("`sharding.max_live_elements`, `max_reuse_elements`", [](const Policy& p) {
    return p.max_live_elements == 0 ? std::string("0") : fmt::format("{}M", p.max_live_elements / 1'000'000);
  });
  table += row("`parallel.cp_method`", [](const Policy& p) { return "`" + word(p.context_method) + "`"; });
  table += row("`kernels.fused_attention`", [](const Policy& p) { return text(p.kernels.fused_attention); });
  table += row("`kernels.fused_softmax`", [](const Policy& p) { return text(p.kernels.fused_softmax); });
  table +=
      row("`kernels.softmax_fp32_copy`", [](const Policy& p) { return text(p.kernels.softmax_fp32_copy); });
  table +=
      row("`kernels.fused_elementwise`", [](const Policy& p) { return text(p.kernels.fused_elementwise); });
  table += row("`kernels.fp32_logits`", [](const Policy& p) { return text(p.kernels.fp32_logits); });
  table += row("`training.vocab_divisible_by`",
               [](const Policy& p) { return std::to_string(p.vocab_divisible_by); });
  return table;
}

}  // namespace orrery::scenarios
