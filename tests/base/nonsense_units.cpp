// Expressions that must not compile, each on a line marked so; nonsense_units.cmake checks that the compiler refuses every
// marked line and, with CONTROL defined, that what is left compiles.
#include <vector>

#include "base/ids.h"
#include "base/units.h"

using orrery::Bandwidth, orrery::Bytes, orrery::Duration, orrery::FlopRate, orrery::Flops, orrery::LinkId, orrery::RankId,
    orrery::Time;

void expressions(Time time, Duration duration, Bytes bytes, Bandwidth bandwidth, Flops flops, FlopRate rate,
                 RankId rank, LinkId link) {
  static_cast<void>(time + duration + bytes / bandwidth + flops / rate);
  static_cast<void>(rank == RankId(1) && link == LinkId(1));
#ifndef CONTROL
  static_cast<void>(time + time);                  // nonsense
  static_cast<void>(time * 2);                     // nonsense
  static_cast<void>(duration - time);              // nonsense
  static_cast<void>(duration + bytes);             // nonsense
  static_cast<void>(duration + 5);                 // nonsense
  static_cast<void>(duration * duration);          // nonsense
  static_cast<void>(time < duration);              // nonsense
  static_cast<void>(Duration(5));                  // nonsense
  const double seconds = duration;                 // nonsense
  static_cast<void>(bytes * bytes);                // nonsense
  static_cast<void>(bytes / rate);                 // nonsense
  const Bytes implicit = 5;                        // nonsense
  static_cast<void>(flops / bandwidth);            // nonsense
  static_cast<void>(bandwidth + rate);             // nonsense
  static_cast<void>(bandwidth / bytes);            // nonsense
  static_cast<void>(rank == link);                 // nonsense
  static_cast<void>(std::vector<int>(1)[rank]);    // nonsense
#endif
}
