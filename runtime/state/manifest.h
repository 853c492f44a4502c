// What a checkpoint says besides tensors: the file manifest.json, written last. A checkpoint without it is none.
//
//     { "format": "orrery checkpoint", "version": 1,
//       "progress": { "step", "optimizer_steps", "loss_scale", "steps_since_overflow", "seed",
//                     "data_source", "data_fingerprint", "next_data_step" },
//       "plan": { "schedule", "world", "tp", "dp", "pp" }, "optimizer": "adam",
//       "model": { every field of models/architecture.h },
//       "files": [ { "name", "bytes", "header_crc32c" } ],
//       "crc32c": "0123abcd" }
//
// A rank file's header holds the checksums of its elements, the manifest those of the headers, and its last line its
// own: of the text before that line. So a reader can trust each piece without reading the rest.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture.h"
#include "schedule/ir.h"

namespace orrery::runtime {

inline constexpr std::int64_t kManifestVersion = 1;

// How far training has come.
struct Progress {
  std::int64_t step = 0;             // steps done; the next one has this number, counted from 0
  std::int64_t optimizer_steps = 0;  // of them, those that updated: fewer where a loss scale overflowed
  double loss_scale = 1.0;
  std::int64_t steps_since_overflow = 0;
  std::int64_t seed = 1;    // of data and dropout
  std::string data_source;  // for people
  std::uint64_t data_fingerprint = 0;
  std::int64_t next_data_step = 0;
  bool operator==(const Progress&) const = default;
};

struct PlanSummary {
  std::string schedule;
  std::int64_t world = 1, tp = 1, dp = 1, pp = 1;
  bool operator==(const PlanSummary&) const = default;
};
PlanSummary plan_summary(const schedule::Schedule& schedule);

struct ManifestFile {
  std::string name;
  std::int64_t bytes = 0;
  std::uint32_t header_checksum = 0;
  bool operator==(const ManifestFile&) const = default;
};

struct Manifest {
  Progress progress;
  PlanSummary plan;
  std::string optimizer;  // optimizer_word()
  models::Architecture model;
  std::vector<ManifestFile> files;
  bool operator==(const Manifest&) const = default;
};

std::string manifest_text(const Manifest& manifest);

// A manifest's last line, for the text before it.
std::string checksum_line(std::string_view text);

// Throws InputError with every fault and its place.
Manifest read_manifest(const std::string& path);

// "layers is 12 there and 24 here; ..." for the fields in which the models differ; empty where tensors of one fit the
// other. Name, source and dropout may differ.
std::string model_difference(const models::Architecture& there, const models::Architecture& here);

}  // namespace orrery::runtime
