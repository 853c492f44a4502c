// What stands for messages where one rank performs its step alone: the memory that a message would write is
// written, from what the rank has itself, so that kernels find numbers there and not what lay there by
// chance, in a cache state that is near that of a run.
//
//   all_gather        every chunk of y is the rank's own x
//   reduce_scatter    y is the rank's own chunk of x
//   all_to_all        y = x
//   recv              y repeats a pattern of small numbers
//   all_reduce, broadcast, send    nothing: the memory holds numbers already
#pragma once

#include "runtime/executor/device.h"

namespace orrery::runtime {

// `call` is a communication op; `device` says how large its elements are.
void stand_in_for_message(const OpCall& call, const Device& device);

}  // namespace orrery::runtime
