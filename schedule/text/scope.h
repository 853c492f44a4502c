// What names mean while a text schedule is being read: groups, the buffers and blocks of the current program,
// the formals of the current block; and reading one op into them. Used by text/parse.cpp and
// text/parse_op.cpp only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/ir.h"
#include "schedule/text/line.h"

namespace orrery::schedule {

// Finds siblings by name, or by "#index". A name that two of them share must be given as an index.
class Names {
 public:
  void add(const std::string& name);
  std::size_t size() const { return count_; }
  bool has(const std::string& name) const { return first_.count(name) != 0; }
  // `what`: "buffer", "block", ... for messages.
  std::uint32_t read(Line& line, std::string_view what) const;

 private:
  std::map<std::string, std::uint32_t> first_;
  std::map<std::string, std::uint32_t> times_;
  std::uint32_t count_ = 0;
};

struct TextScope {
  Schedule schedule;
  bool explicit_shapes = false;

  // Of the current program and block.
  Names buffers, blocks;
  std::map<std::string, std::uint16_t> formals;

  Program& program() { return schedule.programs.back(); }
  Block& block() { return program().blocks.back(); }
  std::uint32_t intern(const KernelShape& shape);
};

std::uint8_t read_group(Line& line, const Schedule& schedule);
KernelShape read_shape(Line& line);  // behind "(", up to and with ")"
std::uint16_t add_formal(Line& line, TextScope& scope, const std::string& name, const Formal& formal);

// Where an op stands alone in a program, as a block and a call of its own.
struct OpCall {
  std::uint32_t unit = 0, microbatch = 0, step = 0;
};
// Reads an op behind its kind and appends it to the current block. `call`: not null where `unit`,
// `microbatch` and `step` are allowed.
void read_op(Line& line, TextScope& scope, OpKind kind, Phase phase, OpCall* call);

}  // namespace orrery::schedule
