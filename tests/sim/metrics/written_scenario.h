// Scenarios written in a test as JSON text, resolved as a file "test.json" in the source root.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/json.h"
#include "scenarios/scenario.h"
#include "schedule/memory.h"

namespace orrery::sim::testing {

inline scenarios::Scenario written(const std::string& text) {
  Diagnostics diagnostics;
  const Json json =
      parse_json(std::make_shared<const SourceFile>(SourceFile{"test.json", text}), diagnostics);
  diagnostics.throw_if_errors();
  scenarios::Scenario scenario = scenarios::resolve_scenario(json, diagnostics);
  diagnostics.throw_if_errors();
  return scenario;
}

// A GPT as Korthikanti et al. write it: LayerNorm, GELU, biases, f = 4h, dropout, separate attention, h /
// heads = 64.
struct Gpt {
  int layers = 4, hidden = 1024, heads = 16, sequence = 1024, vocab = 1024;
  int tp = 1, pp = 1, nodes = 1, gpus = 1, zero = 0;
  bool sp = false;
  int global_batch = 2, micro_batch = 2;
  std::string framework = "megatron", recompute = "none", rest{}, parallel{};
};

inline scenarios::Scenario gpt(const Gpt& g) {
  const std::string base =
      g.gpus == 1 ? "hardware/clusters/a100-80g-1gpu.json" : "hardware/clusters/a100-80g-16x8.json";
  const std::string nodes = g.gpus == 1 ? "" : fmt::format(", \"nodes\": {}", g.gpus / 8);
  return written(fmt::format(
      R"({{ "name": "a GPT",
  "model": {{ "layers": {}, "hidden": {}, "heads": {}, "kv_heads": {}, "ffn_hidden": {}, "vocab": {}, "position": "learned",
             "max_positions": {}, "dropout": 0.1 }},
  "cluster": {{ "base": "{}"{} }},
  "framework": "{}",
  "parallel": {{ "tp": {}, "sp": {}, "pp": {}, "zero": {}{} }},
  "training": {{ "global_batch": {}, "micro_batch": {}, "sequence_length": {}, "precision": "fp16", "recompute": "{}" }},
  "kernels": {{ "fused_attention": false, "softmax_fp32_copy": false }}{} }})",
      g.layers, g.hidden, g.heads, g.heads, 4 * g.hidden, g.vocab, g.sequence, base, nodes, g.framework, g.tp,
      g.sp ? "true" : "false", g.pp, g.zero, g.parallel, g.global_batch, g.micro_batch, g.sequence,
      g.recompute, g.rest));
}

inline std::int64_t of_kind(const schedule::MemoryPeak& peak, schedule::BufferKind kind) {
  return peak.by_kind[static_cast<std::size_t>(kind)].count();
}

inline std::int64_t states(const schedule::MemoryPeak& peak) {
  return of_kind(peak, schedule::BufferKind::weight) + of_kind(peak, schedule::BufferKind::gradient) +
         of_kind(peak, schedule::BufferKind::optimizer);
}

}  // namespace orrery::sim::testing
