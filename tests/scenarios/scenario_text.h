// Scenarios written in a test: parsed as a file "test.json" in the source root, with small models and real
// clusters.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "scenarios/scenario.h"

namespace orrery::scenarios::testing {

struct Read {
  Scenario scenario;
  Diagnostics diagnostics;
  std::string text() const { return diagnostics.text(); }
  std::size_t errors() const {
    std::size_t n = 0;
    for (const Diagnostic& d : diagnostics.all()) n += d.severity == Severity::error ? 1 : 0;
    return n;
  }
};

inline Json parse(const std::string& text, Diagnostics& diagnostics, const std::string& path = "test.json") {
  return parse_json(std::make_shared<const SourceFile>(SourceFile{path, text}), diagnostics);
}

inline Read read(const std::string& text, const std::string& path = "test.json") {
  Read result;
  const Json json = parse(text, result.diagnostics, path);
  if (!result.diagnostics.has_errors()) result.scenario = resolve_scenario(json, result.diagnostics);
  return result;
}

// The parts of a scenario as text; each can be replaced.
struct Parts {
  int layers = 32, heads = 32, kv_heads = 32, hidden = 4096, ffn_hidden = 16384;
  std::string model{};  // instead of the numbers
  int nodes = 4;        // DGX A100 80GB
  std::string cluster{};
  std::string framework = "orrery";
  std::string parallel{};
  std::string training = R"("global_batch": 64, "micro_batch": 1, "sequence_length": 1024)";
  std::string rest{};
};

inline std::string compose(const Parts& p) {
  const auto n = [](int value) { return std::to_string(value); };
  const std::string model = !p.model.empty()
                                ? p.model
                                : R"({ "layers": )" + n(p.layers) + R"(, "heads": )" + n(p.heads) +
                                      R"(, "kv_heads": )" + n(p.kv_heads) + R"(, "hidden": )" + n(p.hidden) +
                                      R"(, "ffn_hidden": )" + n(p.ffn_hidden) +
                                      R"(, "vocab": 51200, "max_positions": 2048 })";
  const std::string cluster =
      !p.cluster.empty()
          ? p.cluster
          : R"({ "base": "hardware/clusters/a100-80g-16x8.json", "nodes": )" + n(p.nodes) + " }";
  return "{\n  \"model\": " + model + ",\n  \"cluster\": " + cluster + ",\n  \"framework\": \"" +
         p.framework + "\",\n  \"parallel\": { " + p.parallel + " },\n  \"training\": { " + p.training +
         " }" + (p.rest.empty() ? "" : ",\n  " + p.rest) + "\n}\n";
}

inline Read read(const Parts& parts) { return read(compose(parts)); }

}  // namespace orrery::scenarios::testing
