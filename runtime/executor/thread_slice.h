// How soon a thread runs once it is woken. Compute lanes fill the cores; a communication lane is woken for some
// microseconds of work, and would wait for milliseconds, until the time slice of whoever runs is over. A thread that asks for
// a short slice is preferred when it wakes (Linux 6.12 and later, EEVDF; sched(7), "sched_setattr"), and needs no
// privilege for it, since it gets no more of the core. Messages of two ranks on two cores, beside kernels: 30 times
// shorter in the median.
#pragma once

namespace orrery::runtime {

// For the calling thread. False where the system does not know it; nothing is then changed.
bool ask_for_short_slice();

}  // namespace orrery::runtime
