// Whether another process of this machine lives: the letter that proc(5) has for its state.
#pragma once

#include <cstdint>

namespace orrery::runtime {

// 'R' running, 'S' sleeping, 'T' stopped, 'Z' zombie, 'X' gone, '?' it could not be asked (too many open files).
char process_state(std::int64_t process);

}  // namespace orrery::runtime
