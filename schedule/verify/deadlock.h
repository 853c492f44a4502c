// Executes the step without time, on the ranks of Parties: does every op of every stream end? A stream runs
// one op, or one group of ops, after the other; an op starts when the events it awaits have happened and the
// host has issued it.
//   send    rendezvous: ends when the matching receive has started too; buffered: ends at once
//   recv    ends when the matching send has started
//   collective  ends when its number-alike on all members has started
// The result does not depend on the order of execution: starting or ending an op never prevents another from
// it.
#pragma once

#include "schedule/verify/findings.h"
#include "schedule/verify/messages.h"

namespace orrery::schedule {

void check_deadlock(const Parties& parties, SendSemantics sends, Findings& findings);

}  // namespace orrery::schedule
