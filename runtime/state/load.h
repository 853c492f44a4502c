// Reading a checkpoint into a rank's memory, under any plan of the same model. Under the plan that wrote it, the
// state is bitwise what was saved. Under another (tp, dp, pp, vpp, ZeRO, master weights, types, padding of the
// vocabulary), every element is found by tensor name, row and column; weights are rounded from parameters as the
// optimizer rounds them; rows of a vocabulary's padding that the checkpoint lacks are as at the start of training,
// with moments of 0.
//
// Residuals of compression go on where tp and dp are the same; else they begin at 0, and a note says so.
//
// A rank reads the headers of all files, and of the elements only the pieces that it wants a part of, each of which
// is verified by its checksum. Cost: wanted bytes once, plus the rest of the pieces that a wanted rectangle cuts.
#pragma once

#include <string>
#include <vector>

#include "runtime/state/layout.h"
#include "runtime/state/manifest.h"
#include "runtime/state/state_memory.h"
#include "schedule/ir.h"

namespace orrery::runtime {

struct Loaded {
  std::string path;  // of the checkpoint
  Progress progress;
  PlanSummary plan;                // of the run that saved it
  std::vector<std::string> notes;  // what does not simply go on, for people
};

// `path`: a checkpoint, or a directory of some (the newest complete one). Throws InputError that names file and
// remedy where there is none, where it is damaged or incomplete, or is another model's, optimizer's or format's; the
// memory is then undefined.
Loaded load_checkpoint(const std::string& path, const schedule::Schedule& schedule, const StateLayout& layout,
                       StateMemory& memory);

}  // namespace orrery::runtime
