// A schedule written by hand, one program and one block, for tests of the executor itself.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "schedule/ir.h"

namespace orrery::interpreter {

class HandSchedule {
 public:
  // One group of `world` ranks (index 0). `programs`: 1, or as many as ranks (one each).
  HandSchedule(std::int64_t world, std::size_t programs) {
    s_.world = world;
    s_.groups.push_back({.name = "world", .stride = 1, .size = world, .period = world, .step = 1});
    s_.program_group = s_.groups[0];
    if (programs == 1) s_.program_group = {.name = "one", .stride = 1, .size = 1, .period = 1, .step = 1};
    s_.programs.resize(programs);
    s_.shapes.emplace_back();
  }

  // Declares a buffer in every program; formal i is buffer i.
  std::uint16_t buffer(const std::string& name, std::int64_t elements, bool persistent = true) {
    for (schedule::Program& p : s_.programs) {
      schedule::Buffer b{.name = name, .kind = schedule::BufferKind::activation};
      b.elements = elements;
      b.persistent = persistent;
      p.buffers.push_back(b);
      p.formals.push_back({BufferId(p.buffers.size() - 1), 0, 0, 0});
    }
    return static_cast<std::uint16_t>(s_.programs[0].formals.size() - 1);
  }

  static schedule::View view(schedule::Role role, schedule::Access access, std::uint16_t formal, std::int64_t count,
                             std::int64_t offset = 0) {
    schedule::View v;
    v.role = role;
    v.access = access;
    v.formal = formal;
    v.offset = offset;
    v.columns = v.row_stride = count;
    return v;
  }

  schedule::Op& op(schedule::OpKind kind, schedule::Stream stream, std::vector<schedule::View> views,
                   std::vector<std::uint16_t> waits = {}, std::size_t program = 0) {
    schedule::Program& p = s_.programs[program];
    schedule::Op o;
    o.kind = kind;
    o.stream = stream;
    if (schedule::is_communication(kind)) o.group = 0;
    o.first_view = static_cast<std::uint32_t>(p.views.size());
    o.view_count = static_cast<std::uint16_t>(views.size());
    o.first_wait = static_cast<std::uint32_t>(p.waits.size());
    o.wait_count = static_cast<std::uint16_t>(waits.size());
    p.views.insert(p.views.end(), views.begin(), views.end());
    p.waits.insert(p.waits.end(), waits.begin(), waits.end());
    p.ops.push_back(o);
    return p.ops.back();
  }

  std::uint32_t shape(const schedule::KernelShape& shape) {
    s_.shapes.push_back(shape);
    return static_cast<std::uint32_t>(s_.shapes.size() - 1);
  }

  // Every program becomes one call of one block of its ops.
  const schedule::Schedule& finish() {
    for (schedule::Program& p : s_.programs) {
      schedule::Block block{.name = "block", .first_op = 0, .op_count = 0, .first_formal = 0, .formal_count = 0};
      block.op_count = static_cast<std::uint32_t>(p.ops.size());
      block.formal_count = static_cast<std::uint32_t>(p.formals.size());
      p.blocks = {block};
      p.calls = {schedule::Call{BlockId(0), 0, 0, 0}};
    }
    return s_;
  }

 private:
  schedule::Schedule s_;
};

}  // namespace orrery::interpreter
