// Quantities of hardware files with a plausible range: a bandwidth of zero or of 10^30 is a slip of the pen,
// and would become a division by zero or an overflow far from its cause.
#pragma once

#include <string_view>

#include "base/object_reader.h"

namespace orrery::hardware {

// 1 MB/s .. 1 PB/s: less than a hundredth of gigabit Ethernet is a slip in the unit.
Bandwidth read_speed(ObjectReader& reader, std::string_view key);
// 1 B .. 1 EB.
Bytes read_size(ObjectReader& reader, std::string_view key);
// 0 .. 10 ms.
Duration read_delay(ObjectReader& reader, std::string_view key);

}  // namespace orrery::hardware
