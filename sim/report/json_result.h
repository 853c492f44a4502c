// The result as one JSON document (docs/reference/result.md lists every field). Fixed order, shortest digits
// that read back to the same number; two runs give the same bytes, except below "runtime".
#pragma once

#include <span>
#include <string>

#include "sim/report/compared.h"

namespace orrery::sim {

inline constexpr int kResultSchemaVersion = 1;

// `runtime`: whether events, wall_s and peak_rss_bytes are written (they differ from run to run).
std::string json_result(const scenarios::Scenario& scenario, const Result& result, bool runtime = true);
// {"schema_version": 1, "results": [...]}, for compare and sweep.
std::string json_results(std::span<const Compared> results, bool runtime = true);

}  // namespace orrery::sim
