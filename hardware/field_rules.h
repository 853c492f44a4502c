// Quantities of hardware files with a plausible range: a bandwidth of zero or of 10^30 is a slip of the pen, and would
// become a division by zero or an overflow far from its cause.
#pragma once

#include <string_view>

#include "base/object_reader.h"

namespace orrery::hardware {

// 1 kB/s .. 1 PB/s.
Bandwidth read_speed(ObjectReader& reader, std::string_view key);
// 1 B .. 1 EB; `fallback` none: required.
Bytes read_size(ObjectReader& reader, std::string_view key);
// 0 .. 1 s.
Duration read_delay(ObjectReader& reader, std::string_view key);

}  // namespace orrery::hardware
