// Where the model's parameters lie in the ranks' memories: Program::units, their slices and shards. Both directions:
// initial values go in (by global name, row, column), and gradients and weights come out as whole tensors by name.
// What several ranks hold (replicated over the tensor group, over data parallelism, a tied embedding's two copies)
// must agree.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedule/ir.h"
#include "tests/interpreter/memory.h"

namespace orrery::interpreter {

class Executor;

struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values;  // row-major
  Matrix() = default;
  Matrix(std::int64_t r, std::int64_t c, double value = 0.0)
      : rows(r), columns(c), values(static_cast<std::size_t>(r * c), value) {}
  double& at(std::int64_t r, std::int64_t c) { return values[static_cast<std::size_t>(r * columns + c)]; }
  double at(std::int64_t r, std::int64_t c) const { return values[static_cast<std::size_t>(r * columns + c)]; }
};
using NamedTensors = std::map<std::string, Matrix>;  // "embedding.token", "layer0.mlp.up", "head.norm.weight", ...

std::string global_name(const schedule::Unit& unit, const schedule::Slice& slice);

// Weights and their master copies; optimizer states start at zero; all else stays unwritten.
void place_initial_state(const schedule::Schedule& schedule, std::int64_t rank, RankMemory& memory);

enum class State : std::uint8_t { weights, gradients, master };
// After a run. Throws ScheduleError where an element is missing, unwritten, or differs between its holders.
NamedTensors collect(const schedule::Schedule& schedule, Executor& executor, State state);

}  // namespace orrery::interpreter
