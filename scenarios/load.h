// Scenarios as a command line names them: files, beside the working directory also those that ship with Orrery, and fields
// set over what they say.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "scenarios/assignment.h"
#include "scenarios/scenario.h"

namespace orrery::scenarios {

// Throws InputError.
Json read_shipped_json(const std::string& path);

// `json` with each field set, resolved. Throws InputError with all errors.
Scenario resolve_with(Json json, const std::vector<Assignment>& assignments);

// All of them, each with every "path=value" of `sets`; the errors of all files at once.
std::vector<Scenario> load_scenarios(const std::vector<std::string>& files, const std::vector<std::string>& sets);

}  // namespace orrery::scenarios
