// Every field of a scenario file: its path, type, default and one line of help. docs/reference/scenario.md is
// rendered from this table, `sweep` knows from it what can be varied, and tests read each field's example
// through the reader.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery::scenarios {

struct Field {
  std::string_view path;      // "parallel.tp"
  std::string_view type;      // "integer", "\"a\" | \"b\"", "duration"
  std::string_view fallback;  // what stands where the file says nothing
  std::string_view help;
  std::string_view example;  // JSON
};

const std::vector<Field>& fields();

// Whether a dotted path names a field, or a part of the model or cluster ("model.layers",
// "cluster.node.gpus").
bool is_field_path(std::string_view path);

// The Markdown tables of docs/reference/scenario.md, one per section.
std::string render_fields();
// The Markdown table of docs/reference/frameworks.md: what each policy does.
std::string render_policies();

}  // namespace orrery::scenarios
