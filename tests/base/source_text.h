// A source file that exists only in a test.
#pragma once

#include <memory>
#include <string>

#include "base/json.h"

namespace orrery::test {

inline std::shared_ptr<const SourceFile> source_text(std::string text) {
  return std::make_shared<const SourceFile>(SourceFile{"test.json", std::move(text)});
}

// What parsing reports, as main would print it.
inline std::string findings(const std::string& text) {
  Diagnostics diagnostics;
  parse_json(source_text(text), diagnostics);
  return diagnostics.text();
}

// For text that must parse.
inline Json parsed(const std::string& text) {
  Diagnostics diagnostics;
  Json json = parse_json(source_text(text), diagnostics);
  diagnostics.throw_if_errors();
  return json;
}

}  // namespace orrery::test
