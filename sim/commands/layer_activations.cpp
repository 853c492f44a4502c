#include "sim/commands/layer_activations.h"

#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "models/zoo_reader.h"
#include "scenarios/scenario.h"
#include "schedule/compile.h"
#include "schedule/expert_rows.h"
#include "schedule/memory.h"

namespace orrery::sim {
namespace {

std::string scenario_text(models::Architecture model, std::int64_t layers, const ActivationQuestion& q,
                          bool fused) {
  model.layers = layers;
  return fmt::format(R"({{"name": "one layer", "cluster": "hardware/clusters/a100-80g-1gpu.json", "model": {},
    "training": {{"global_batch": {}, "micro_batch": {}, "sequence_length": {}}}, "kernels": {{"fused_attention": {}}}}})",
                     models::write_architecture(model), q.micro_batch, q.micro_batch, q.sequence_length,
                     fused);
}

schedule::Schedule compiled(const models::Architecture& model, std::int64_t layers,
                            const ActivationQuestion& q, bool fused) {
  Diagnostics diagnostics;
  auto source = std::make_shared<SourceFile>(SourceFile{"", scenario_text(model, layers, q, fused)});
  const Json json = parse_json(std::move(source), diagnostics);
  const scenarios::Scenario scenario = scenarios::resolve_scenario(json, diagnostics);
  if (diagnostics.has_errors()) {  // the places are in a text that the user never saw
    std::string text;
    for (const Diagnostic& d : diagnostics.all())
      if (d.severity == Severity::error) text += fmt::format("error: {}\n", d.message);
    throw InputError(text);
  }
  return schedule::with_most_rows(schedule::compile(scenario));
}

// Peak of the forward, less what lives before and after it as well.
std::int64_t forward_extra(const schedule::Program& program) {
  std::int64_t persistent = 0;
  const auto grain = schedule::kAllocationGrain;
  for (const schedule::Buffer& buffer : program.buffers)
    if (buffer.persistent && !buffer.on_host)
      persistent += (buffer.bytes().count() + grain - 1) / grain * grain * buffer.instances;
  const auto forward = static_cast<std::size_t>(schedule::Phase::forward);
  return schedule::memory_peak(program).peak_of_phase[forward].count() - persistent;
}

Bytes kept_by_a_layer(const models::Architecture& model, const ActivationQuestion& q, bool fused) {
  models::Architecture every_layer = model;  // a layer with experts, where the model has such
  every_layer.experts.dense_layers = 0;
  every_layer.experts.every = 1;
  const auto extra = [&](std::int64_t layers) {
    return forward_extra(compiled(every_layer, layers, q, fused).programs.front());
  };
  return Bytes(extra(3) - extra(2));
}

}  // namespace

LayerActivations layer_activations(const models::Architecture& model, const ActivationQuestion& q) {
  return {kept_by_a_layer(model, q, true), kept_by_a_layer(model, q, false)};
}

}  // namespace orrery::sim
