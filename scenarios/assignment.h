// "path=value" of the command line: one field of a scenario set (`--set training.micro_batch=2`), or a list
// of values to vary it over (`--set training.micro_batch=1,2,4`). Values are JSON; a word that is no JSON is
// a string, so `training.recompute=full` and `model=models/zoo/gpt2-124m.json` need no quotes within quotes.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace orrery::scenarios {

struct Assignment {
  std::string path;
  Json value;
  std::string written;  // the value, as it was written
};

// Throws InputError. Places point into the command line ("--set:1:10").
Assignment parse_assignment(const std::string& text);

struct Axis {
  std::string path;
  std::vector<Assignment> values;
};

// "field=v1,v2,..." or "field=[v1, v2, ...]"; commas inside brackets, braces and quotes do not separate.
Axis parse_axis(const std::string& text);

}  // namespace orrery::scenarios
