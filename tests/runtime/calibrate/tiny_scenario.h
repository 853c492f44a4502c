// Scenarios small enough to be performed within a test, as text.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "runtime/calibrate/default_scenarios.h"
#include "runtime/calibrate/workload.h"
#include "scenarios/load.h"
#include "schedule/compile.h"

namespace orrery::runtime {

// `parallel`: members of that object, as R"("tp": 2)".
inline std::string tiny_scenario(std::int64_t ranks, const std::string& parallel, std::int64_t hidden = 32,
                                 std::int64_t layers = 2) {
  return fmt::format(
      R"({{"name": "tiny", "cluster": {}, "parallel": {{{}}},
           "model": {{"layers": {}, "hidden": {}, "heads": 4, "vocab": 64, "max_positions": 64}},
           "training": {{"global_batch": {}, "micro_batch": 2, "sequence_length": 16, "precision": "fp32"}}}})",
      unmeasured_cluster(ranks), parallel, layers, hidden, 4 * ranks);
}

inline std::shared_ptr<const schedule::Schedule> tiny_schedule(std::int64_t ranks,
                                                               const std::string& parallel) {
  Diagnostics diagnostics;
  const auto source = std::make_shared<SourceFile>(SourceFile{"tiny", tiny_scenario(ranks, parallel)});
  const Json json = parse_json(source, diagnostics);
  diagnostics.throw_if_errors();
  return std::make_shared<const schedule::Schedule>(schedule::compile(scenarios::resolve_with(json, {})));
}

}  // namespace orrery::runtime
