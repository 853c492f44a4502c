// Clusters for tests: a shipped file, or an inline object that may name one as its base.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "hardware/cluster_reader.h"

namespace orrery::sim {

inline hardware::Cluster cluster_of(const std::string& text) {
  auto source = std::make_shared<SourceFile>();
  source->path = "test.json";
  source->text = text;
  Diagnostics diagnostics;
  const Json json = parse_json(source, diagnostics);
  const hardware::Cluster cluster = hardware::read_cluster(json, diagnostics);
  diagnostics.throw_if_errors();
  return cluster;
}

inline hardware::Cluster shipped_cluster(const std::string& name) {
  return cluster_of(R"({"base": "hardware/clusters/)" + name + R"(.json"})");
}

// 0, stride, 2 stride, ... `count` of them.
inline std::vector<std::int64_t> ranks(std::int64_t count, std::int64_t stride = 1, std::int64_t first = 0) {
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(first + i * stride);
  return result;
}

}  // namespace orrery::sim
