// What each kind of op needs: operands by role, a stream, a group, sizes that agree with its shape. The table
// is the one of docs/schedule.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedule/ir.h"

namespace orrery::schedule {

// What `op` breaks, each as the end of a sentence ("needs an operand w"). Its views must lie inside their
// buffers.
std::vector<std::string> broken_rules(const Schedule& schedule, const Program& program, const Block& block,
                                      const Op& op);

// Roles that a kind needs, those it may have in brackets: "x w y [bias]"; of a GEMM, by its layout.
std::string_view operands_of(OpKind kind, Layout layout);

}  // namespace orrery::schedule
