#include "tests/interpreter/placement.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tests/interpreter/data.h"
#include "tests/interpreter/executor.h"

namespace orrery::interpreter {
namespace {

using schedule::BufferKind;
using schedule::Program;
using schedule::Schedule;
using schedule::Unit;
using schedule::UnitKind;

struct Kept {
  schedule::BufferRef ref;
  std::int64_t shards = 1;
};

Kept kept(const Unit& unit, State state) {
  switch (state) {
    case State::weights: return {unit.weights, unit.weight_shards};
    case State::gradients: return {unit.gradients, unit.gradient_shards};
    case State::master: return {unit.master, unit.optimizer_shards};
  }
  return {};
}

// The part of a unit's flat vector that this rank keeps: elements [first, last), element i at i - origin.
struct Part {
  double* values = nullptr;
  std::int64_t first = 0, last = 0, origin = 0;
  double* find(std::int64_t i) const { return i >= first && i < last ? values + (i - origin) : nullptr; }
};

Part part_of(const Schedule& schedule, std::int64_t rank, RankMemory& memory, const Unit& unit, const Kept& k) {
  Allocation& allocation = memory.current(k.ref.buffer, k.ref.instance);
  const std::int64_t size = unit.elements / k.shards;
  Part part;
  part.values = allocation.touch();
  part.first = k.shards > 1 ? schedule.groups[unit.shard_group].index(rank) * size : 0;
  part.last = part.first + size;
  if (allocation.elements() < unit.elements) part.origin = part.first;
  if (part.last - part.origin > allocation.elements())
    throw ScheduleError(fmt::format("{} has no room for {} elements", allocation.label(), size));
  return part;
}

std::int64_t index_in(const Schedule& schedule, std::uint8_t group, std::int64_t rank) {
  return group < schedule.groups.size() ? schedule.groups[group].index(rank) : 0;
}

// The name of a slice here: of an expert, with its number among all of the layer.
std::string name_here(const Schedule& schedule, std::int64_t rank, const Unit& unit, const schedule::Slice& slice) {
  if (slice.expert < 0) return global_name(unit, slice);
  const std::int64_t local = unit.slices.back().expert + 1;
  const std::int64_t expert = index_in(schedule, unit.expert_group, rank) * local + slice.expert;
  return fmt::format("layer{}.expert{}.{}", unit.layer, expert, slice.parameter.name);
}

// Calls visit(slice, position in the flat vector, global row, global column).
template <typename Visit>
void for_each_element(const Unit& unit, std::int64_t tensor, Visit&& visit) {
  for (const schedule::Slice& s : unit.slices) {
    const bool by_rows = s.parameter.sharding == models::Sharding::rows;
    const bool by_columns = s.parameter.sharding == models::Sharding::columns;
    for (std::int64_t r = 0; r < s.rows; ++r)
      for (std::int64_t c = 0; c < s.columns; ++c)
        visit(s, s.offset + r * s.columns + c, by_rows ? tensor * s.rows + r : r,
              by_columns ? tensor * s.columns + c : c);
  }
}

void place(const Schedule& schedule, std::int64_t rank, RankMemory& memory, const Unit& unit, State state) {
  const Part part = part_of(schedule, rank, memory, unit, kept(unit, state));
  for (std::int64_t i = part.first; i < part.last; ++i) *part.find(i) = 0.0;  // padding
  for_each_element(unit, index_in(schedule, unit.cut_group, rank),
                   [&](const schedule::Slice& s, std::int64_t at, std::int64_t row, std::int64_t column) {
                     if (double* const place = part.find(at))
                       *place = initial_weight(name_here(schedule, rank, unit, s), row, column, schedule.hyper.seed);
                   });
}

// Holders compute the same sums in different orders at most.
bool agree(double a, double b) { return std::abs(a - b) <= 1e-12 * (1.0 + std::abs(a)); }

void take(NamedTensors& all, const std::string& name, const schedule::Slice& s, std::int64_t row, std::int64_t column,
          double value) {
  auto found = all.find(name);
  if (found == all.end())
    found = all.emplace(name, Matrix(s.parameter.rows, s.parameter.columns,
                                     std::numeric_limits<double>::quiet_NaN())).first;
  double& place = found->second.at(row, column);
  if (std::isnan(value)) throw ScheduleError(fmt::format("{}[{}, {}] was never written", name, row, column));
  if (!std::isnan(place) && !agree(place, value))
    throw ScheduleError(fmt::format("ranks disagree on {}[{}, {}]: {} and {}", name, row, column, place, value));
  place = value;
}

}  // namespace

std::string global_name(const Unit& unit, const schedule::Slice& slice) {
  if (unit.kind == UnitKind::layer || unit.kind == UnitKind::expert_layer)
    return fmt::format("layer{}.{}", unit.layer, slice.parameter.name);
  return (unit.kind == UnitKind::embedding ? "embedding." : "head.") + slice.parameter.name;
}

void place_initial_state(const Schedule& schedule, std::int64_t rank, RankMemory& memory) {
  const Program& program = schedule.program_of(rank);
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    const schedule::Buffer& buffer = program.buffers[b];
    // What is not sent under compression waits for the next step in a residual, which begins at zero too.
    const bool residual = buffer.name.find("residual") != std::string::npos;
    if (!buffer.persistent || (buffer.kind != BufferKind::optimizer && !residual)) continue;
    for (std::uint32_t i = 0; i < buffer.instances; ++i) {
      double* const values = memory.current(BufferId(b), i).touch();
      std::fill(values, values + buffer.elements, 0.0);
    }
  }
  for (const Unit& unit : program.units) {
    place(schedule, rank, memory, unit, State::weights);
    if (unit.master.buffer != unit.weights.buffer) place(schedule, rank, memory, unit, State::master);
  }
}

NamedTensors collect(const Schedule& schedule, Executor& executor, State state) {
  NamedTensors all;
  for (std::int64_t rank = 0; rank < schedule.world; ++rank)
    for (const Unit& unit : schedule.program_of(rank).units) {
      const Part part = part_of(schedule, rank, executor.memory(rank), unit, kept(unit, state));
      for_each_element(unit, index_in(schedule, unit.cut_group, rank),
                       [&](const schedule::Slice& s, std::int64_t at, std::int64_t row, std::int64_t column) {
                         if (const double* const value = part.find(at)) take(all, name_here(schedule, rank, unit, s), s, row, column, *value);
                       });
    }
  for (const auto& [name, tensor] : all)
    for (const double value : tensor.values)
      if (std::isnan(value)) throw ScheduleError(name + ": no rank holds a part of it");
  return all;
}

}  // namespace orrery::interpreter
