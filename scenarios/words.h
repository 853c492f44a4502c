// The words that a scenario file uses for each closed choice, in one table per choice: the reader takes them,
// messages and reports print them, and the field reference lists them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scenarios/scenario.h"

namespace orrery::scenarios {

template <typename Enum>
using Words = std::vector<std::pair<std::string, Enum>>;

const Words<Framework>& framework_words();
const Words<PipelineSchedule>& schedule_words();
const Words<Recompute>& recompute_words();
const Words<Balance>& balance_words();
const Words<Dispatch>& dispatch_words();
const Words<Optimizer>& optimizer_words();
const Words<hardware::Precision>& precision_words();
const Words<Scaling>& scaling_words();
const Words<ContextMethod>& context_words();
const Words<OffloadTarget>& offload_words();
const Words<Algorithm>& algorithm_words();
const Words<Protocol>& protocol_words();

// The first word of a value.
template <typename Enum>
std::string word(const Words<Enum>& words, Enum value) {
  for (const auto& [text, each] : words)
    if (each == value) return text;
  return "?";
}
inline std::string word(Framework v) { return word(framework_words(), v); }
inline std::string word(PipelineSchedule v) { return word(schedule_words(), v); }
inline std::string word(Recompute v) { return word(recompute_words(), v); }
inline std::string word(Optimizer v) { return word(optimizer_words(), v); }
inline std::string word(hardware::Precision v) { return word(precision_words(), v); }
inline std::string word(Scaling v) { return word(scaling_words(), v); }
inline std::string word(ContextMethod v) { return word(context_words(), v); }
inline std::string word(Algorithm v) { return word(algorithm_words(), v); }
inline std::string word(Protocol v) { return word(protocol_words(), v); }

// "1, 2 or 4"
std::string alternatives(const std::vector<std::string>& words);
std::string alternatives(const std::vector<std::int64_t>& values);

}  // namespace orrery::scenarios
