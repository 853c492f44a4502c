// Checks a Schedule before either machine runs it; see docs/schedule.md, "verify". One member of each
// distinct program (closed under point-to-point peers) is executed without time.
#pragma once

#include <string>
#include <vector>

#include "schedule/ir.h"

namespace orrery::schedule {

enum class SendSemantics : std::uint8_t { rendezvous, buffered };

struct Finding {
  std::string message;             // "deadlock: ...", "rank 3: buffer ... is read before it is written", ...
  std::vector<std::string> lines;  // details: the wait cycle, one op a line
  bool unchecked = false;          // nothing wrong was found: the schedule is too large for this check
};

struct VerifyOptions {
  SendSemantics sends = SendSemantics::rendezvous;
  // Iterations of a repeat that are walked at least. Repeats are cut by the same number of microbatches in
  // all programs (verify/walk.h), never below this, nor below what it takes to reuse every slot.
  std::uint32_t repeat_limit = 4;
  // What is larger is not checked, and a finding says so: walked ops of all programs together, and parts of
  // buffer instances of one program (52 bytes each).
  std::uint64_t most_ops = 20'000'000, most_atoms = 50'000'000;
};

// Whether nothing wrong was found. What was too large to check is not wrong.
bool is_sound(const std::vector<Finding>& findings);

// Empty: the schedule is sound.
std::vector<Finding> verify(const Schedule& schedule, const VerifyOptions& options = {});

}  // namespace orrery::schedule
