// Reads a model from text or from a file, for the tests of this folder.
#pragma once

#include <memory>
#include <string>

#include "base/diagnostics.h"
#include "base/json.h"
#include "models/zoo_reader.h"

namespace orrery::models {

struct ReadModel {
  Architecture architecture;
  Diagnostics diagnostics;
};

inline ReadModel read_model_text(std::string text, std::string path = "m.json") {
  ReadModel read;
  auto source = std::make_shared<const SourceFile>(SourceFile{std::move(path), std::move(text)});
  const Json json = parse_json(source, read.diagnostics);
  if (!read.diagnostics.has_errors()) read.architecture = read_architecture(json, read.diagnostics);
  return read;
}

inline ReadModel read_model_file(const std::string& path) {
  return read_model_text(read_source(path)->text, path);
}

}  // namespace orrery::models
