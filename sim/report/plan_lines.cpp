#include "sim/report/plan_lines.h"

#include <fmt/format.h>

#include "base/quantities.h"
#include "scenarios/words.h"
#include "sim/report/text_layout.h"

namespace orrery::sim {
namespace {

using scenarios::Recompute;
using scenarios::Scenario;

std::string model_line(const Scenario& s) {
  const models::Architecture& a = s.model;
  return fmt::format("{}: {} parameters, {} layers of {}, {} heads, vocabulary {}", a.name,
                     human_count(static_cast<double>(models::parameter_count(a))), a.layers, a.hidden,
                     a.heads, a.vocab);
}

std::string cluster_line(const Scenario& s) {
  const hardware::Cluster& c = s.cluster;
  if (c.graph)
    return fmt::format("{}: {} GPUs {} in an explicit graph", c.name, s.parallel.world(), c.gpu.name);
  return fmt::format("{}: {} node{} of {} x {}", c.name, c.nodes, c.nodes == 1 ? "" : "s", c.node.gpus,
                     c.gpu.name);
}

std::string training_line(const Scenario& s) {
  std::string recompute = scenarios::word(s.training.recompute);
  if (s.training.recompute == Recompute::full && s.training.recompute_every > 1)
    recompute += fmt::format(", every {} layers", s.training.recompute_every);
  std::string line = fmt::format("{}, {}, recompute {}, {} attention", scenarios::word(s.training.precision),
                                 scenarios::word(s.training.optimizer), recompute,
                                 s.kernels.fused_attention ? "fused" : "separate");
  if (s.offload.optimizer == scenarios::OffloadTarget::cpu) line += ", optimizer on the host";
  if (s.compression.top_k > 0.0)
    line += fmt::format(", top {} % of gradients sent", number_text(100.0 * s.compression.top_k));
  return line;
}

std::string batch_line(const Scenario& s) {
  const scenarios::Training& t = s.training;
  return fmt::format("{} sequences of {} tokens: {} microbatch{} of {} on {} replica{}", t.global_batch,
                     t.sequence_length, t.microbatches, t.microbatches == 1 ? "" : "es", t.micro_batch,
                     s.parallel.dp, s.parallel.dp == 1 ? "" : "s");
}

std::string recipe_line(const Scenario& s) {
  const scenarios::Recipe& r = s.recipe;
  const int master = r.master_weights ? 4 : 0;
  return fmt::format(
      "{}: {} weight + {} gradient + {} master + {} optimizer = {} B/parameter, before sharding",
      scenarios::word(s.framework), r.weight_bytes, r.gradient_bytes, master, r.optimizer_state_bytes,
      r.weight_bytes + r.gradient_bytes + master + r.optimizer_state_bytes);
}

}  // namespace

std::string short_plan(const Scenario& s) {
  const scenarios::Parallel& p = s.parallel;
  std::string plan = fmt::format("TP{}{} PP{}", p.tp, p.sequence_parallel ? " SP" : "", p.pp);
  if (p.vpp > 1) plan += fmt::format(" VPP{}", p.vpp);
  if (p.cp > 1) plan += fmt::format(" CP{} ({})", p.cp, scenarios::word(p.context_method));
  plan += fmt::format(" DP{}", p.dp);
  if (p.zero > 0) plan += fmt::format(" ZeRO-{}", p.zero);
  return plan;
}

std::vector<std::pair<std::string, std::string>> plan_lines(const Scenario& s) {
  std::string plan = short_plan(s);
  if (s.parallel.pp > 1) plan += ", " + scenarios::word(s.parallel.schedule);
  return {{"model", model_line(s)},
          {"cluster", cluster_line(s)},
          {"plan", plan + "; " + training_line(s)},
          {"batch", batch_line(s)},
          {"recipe", recipe_line(s)}};
}

}  // namespace orrery::sim
