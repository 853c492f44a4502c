// Builds a small program by hand for tests, in the canonical layout, without the compiler's block builder.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "schedule/ir.h"

namespace orrery::schedule {

struct SmallProgram {
  Program program;

  BufferId buffer(Buffer b) {
    program.buffers.push_back(std::move(b));
    return BufferId(program.buffers.size() - 1);
  }

  // Opens a block; the ops that follow belong to it.
  void block(std::string name, std::initializer_list<Formal> formals) {
    Block b;
    b.name = std::move(name);
    b.first_op = static_cast<std::uint32_t>(program.ops.size());
    b.first_formal = static_cast<std::uint32_t>(program.formals.size());
    b.formal_count = static_cast<std::uint32_t>(formals.size());
    program.formals.insert(program.formals.end(), formals);
    program.blocks.push_back(std::move(b));
  }

  // A view without columns is the whole buffer.
  Op& op(OpKind kind, Phase phase, std::initializer_list<View> views) {
    Op o;
    o.kind = kind;
    o.phase = phase;
    o.first_view = static_cast<std::uint32_t>(program.views.size());
    o.view_count = static_cast<std::uint16_t>(views.size());
    o.first_wait = static_cast<std::uint32_t>(program.waits.size());
    Block& b = program.blocks.back();
    for (View v : views) {
      if (v.columns == 0)
        v.columns = program.buffers[program.formals[b.first_formal + v.formal].buffer.index()].elements;
      if (v.row_stride == 0) v.row_stride = v.columns;
      program.views.push_back(v);
    }
    ++b.op_count;
    program.ops.push_back(o);
    return program.ops.back();
  }

  void call(Call c) { program.calls.push_back(c); }

  void repeat(std::uint32_t count, std::initializer_list<Call> calls) {
    program.repeats.push_back(
        {static_cast<std::uint32_t>(program.calls.size()), static_cast<std::uint32_t>(calls.size()), count});
    program.calls.insert(program.calls.end(), calls);
  }
};

}  // namespace orrery::schedule
