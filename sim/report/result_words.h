// The words that every report uses for the parts of a result, so that text, JSON and CSV name them alike.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "sim/metrics/result.h"

namespace orrery::sim {

std::string_view name(Verdict verdict);  // "fits", "risky", "does not fit"
std::string_view key_of(Share share);     // as in the JSON waterfall: "compute", "exposed_tp", ...
std::string_view words_for(Share share);  // for people

// Groups of communication in the order of Result::communication_by_group.
inline constexpr std::array<std::string_view, schedule::kGroupKinds> kGroupKeys = {"tp", "dp", "pp",
                                                                                   "cp", "ep", "other"};
inline constexpr std::array<std::string_view, schedule::kGroupKinds> kGroupWords = {
    "tensor", "data", "pipeline", "context", "expert", "other"};

// Memory kinds as users call them, in the order of schedule::BufferKind.
std::string_view memory_key(schedule::BufferKind kind);  // "weights", "gradients", ...

Bytes fixed_bytes(const StageResult& stage);

std::string place_text(const Place& place);  // "scenarios/a.json:9:15", empty where there is no file

}  // namespace orrery::sim
