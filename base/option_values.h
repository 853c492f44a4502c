// Values of command-line options that no option can mean: an empty text, which would pass for "not given", and numbers that
// are none. In a header of its own, since only programs know CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "base/diagnostics.h"

namespace orrery {

// After parsing: throws InputError where an option or argument was given an empty text.
inline void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& value : option->results())
      if (value.empty())
        throw InputError(fmt::format("error: {}: its value is empty\n  hint: leave the option out, or give it a value\n",
                                     option->get_name()));
}

// NaN passes every comparison of a range.
inline void require_finite(const char* option, double value) {
  if (!std::isfinite(value)) throw InputError(fmt::format("error: {}: {} is no finite number\n", option, value));
}

// A count that is out of every run's reach is a mistake, or was cut to the largest that there is.
inline void require_count(const char* option, std::int64_t value) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (value > kMost) throw InputError(fmt::format("error: {}: {} is too large\n  hint: at most {}\n", option, value, kMost));
}

}  // namespace orrery
