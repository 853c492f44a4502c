#include "runtime/state/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/check.h"

namespace orrery::runtime {
namespace {

using schedule::BufferRef;
using schedule::OpKind;
using schedule::Program;
using schedule::Role;
using schedule::Schedule;
using schedule::Slice;
using schedule::Unit;
using schedule::UnitKind;

// Elements [first, last) of a unit's flat vector.
struct Range {
  std::int64_t first = 0, last = 0;
};

struct UnitBuffers {
  std::optional<BufferRef> moment1, moment2, residual;
};

std::optional<BufferRef> bound(const Program& p, const schedule::Call& call, const schedule::View* view) {
  if (view == nullptr) return std::nullopt;
  const schedule::Formal& formal = p.formals_of(p.block(call))[view->formal];
  return BufferRef{formal.buffer, p.instance(formal, call, 0)};
}

// The buffers that a unit's optimizer and compression work on; a unit's index is its index in Program::units.
std::vector<UnitBuffers> find_buffers(const Program& p) {
  std::vector<UnitBuffers> found(p.units.size());
  schedule::for_each_call(p, 1, [&](const schedule::Call& call, std::uint32_t, std::uint32_t) {
    if (call.unit >= found.size()) return;
    UnitBuffers& unit = found[call.unit];
    for (const schedule::Op& op : p.ops_of(p.block(call))) {
      if (op.kind == OpKind::adam || op.kind == OpKind::cpu_adam || op.kind == OpKind::sgd) {
        unit.moment1 = bound(p, call, p.find(op, Role::moment1));
        unit.moment2 = bound(p, call, p.find(op, Role::moment2));
      } else if (op.kind == OpKind::top_k_select) {
        const schedule::View* const x = p.find(op, Role::x);
        if (x != nullptr && x->access == schedule::Access::update) unit.residual = bound(p, call, x);
      }
    }
  });
  return found;
}

std::string unit_name(const Unit& unit) {
  if (!schedule::is_end(unit.kind)) return fmt::format("layer{}", unit.layer);
  return unit.kind == UnitKind::embedding ? "embedding" : "head";
}

bool has_token_rows(const Unit& unit, const Slice& slice) {
  const std::string& name = slice.parameter.name;
  if (unit.kind == UnitKind::embedding) return name == "token";
  return unit.kind == UnitKind::head && (name == "output" || name == "output_bias");
}

class Writer {
 public:
  Writer(const Schedule& schedule, std::int64_t rank)
      : program_(schedule.program_of(rank)),
        groups_(schedule.groups),
        rank_(rank),
        tensor_(index_in(schedule::kTensor)),
        data_(index_in(schedule::kData)) {
    const std::uint8_t gradient = schedule::find_group(schedule, "gradient");
    if (gradient != schedule::kNoGroup) data_ = index_in(gradient);
  }

  StateLayout take() {
    const std::vector<UnitBuffers> buffers = find_buffers(program_);
    for (std::size_t u = 0; u < program_.units.size(); ++u) add(program_.units[u], buffers[u]);
    return std::move(layout_);
  }

 private:
  void add(const Unit& unit, const UnitBuffers& buffers);
  void add(const Unit& unit, StateKind kind, BufferRef ref, std::int64_t shards);
  void add(const Unit& unit, const Slice& slice, Range part, StateRun run);
  void add_residual(const Unit& unit, BufferRef ref);
  std::int64_t index_in(std::uint8_t group) const {
    return group == schedule::kNoGroup ? 0 : groups_[group].index(rank_);
  }
  Range shard(const Unit& unit, std::int64_t shards) const;
  Range owned_by_shards(const Unit& unit, StateKind kind) const;
  std::int64_t origin(const Unit& unit, BufferRef ref, Range part) const;
  void remember(BufferRef ref);

  const Program& program_;
  // An expert goes by its number among all of the layer.
  std::string slice_name(const Unit& unit, const Slice& slice) const {
    if (slice.expert < 0) return unit_name(unit) + "." + slice.parameter.name;
    const std::int64_t local = unit.slices.back().expert + 1;
    const std::int64_t expert = index_in(unit.expert_group) * local + slice.expert;
    return fmt::format("layer{}.expert{}.{}", unit.layer, expert, slice.parameter.name);
  }
  // Which of the ranks with the same parameters this is.
  std::int64_t copy(const Unit& unit) const {
    return unit.kind == UnitKind::experts ? index_in(unit.shard_group) : data_;
  }

  const std::vector<schedule::Group>& groups_;
  std::int64_t rank_, tensor_, data_;
  std::uint32_t first_tensor_ = 0;  // of the unit that is being added
  std::int64_t cut_ = 0;            // which part of its slices is here
  StateLayout layout_;
};

void Writer::add(const Unit& unit, const UnitBuffers& buffers) {
  first_tensor_ = static_cast<std::uint32_t>(layout_.tensors.size());
  cut_ = index_in(unit.cut_group);
  for (const Slice& s : unit.slices)
    layout_.tensors.push_back({.name = slice_name(unit, s),
                               .rows = s.parameter.rows,
                               .columns = s.parameter.columns,
                               .initial = s.parameter.initial,
                               .vocabulary = has_token_rows(unit, s)});
  add(unit, StateKind::weight, unit.weights, unit.weight_shards);
  if (!(unit.master == unit.weights)) add(unit, StateKind::master, unit.master, unit.optimizer_shards);
  if (buffers.moment1) add(unit, StateKind::moment1, *buffers.moment1, unit.optimizer_shards);
  if (buffers.moment2) add(unit, StateKind::moment2, *buffers.moment2, unit.optimizer_shards);
  add(unit, StateKind::gradient, unit.gradients, unit.gradient_shards);
  if (buffers.residual) add_residual(unit, *buffers.residual);
}

Range Writer::shard(const Unit& unit, std::int64_t shards) const {
  if (shards == 1) return {0, unit.elements};
  const std::int64_t size = unit.elements / shards, own = index_in(unit.shard_group);
  return {own * size, (own + 1) * size};
}

// What this replica owns of what it holds.
Range Writer::owned_by_shards(const Unit& unit, StateKind kind) const {
  const std::int64_t shards = kind == StateKind::gradient ? unit.gradient_shards
                              : kind == StateKind::weight ? std::max(unit.weight_shards, unit.optimizer_shards)
                                                          : unit.optimizer_shards;
  // Of the replicas that hold it, the first.
  if (shards == 1 ? copy(unit) != 0 : unit.replica_group != schedule::kNoGroup && index_in(unit.replica_group) != 0) return {};
  return shard(unit, shards);
}

// The element of the flat vector at the beginning of the buffer: a shard lies at its offset where the buffer has room
// for the whole vector, alone where it has not.
std::int64_t Writer::origin(const Unit& unit, BufferRef ref, Range part) const {
  const schedule::Buffer& buffer = program_.buffers[ref.buffer.index()];
  const std::int64_t first = buffer.elements < unit.elements ? part.first : 0;
  CHECK(part.last - first <= buffer.elements && ref.instance < buffer.instances, buffer.name, buffer.elements,
        part.last);
  return first;
}

void Writer::add(const Unit& unit, StateKind kind, BufferRef ref, std::int64_t shards) {
  const Range part = shard(unit, shards), owned = owned_by_shards(unit, kind);
  const std::int64_t origin_of_buffer = origin(unit, ref, part);
  const bool rounded = kind == StateKind::weight && !(unit.master == unit.weights);
  const bool needed = kind != StateKind::gradient && !rounded;
  if (kind != StateKind::gradient) remember(ref);
  for (std::size_t s = 0; s < unit.slices.size(); ++s) {
    const Slice& slice = unit.slices[s];
    const bool lowest = cut_ == 0 || slice.parameter.sharding != models::Sharding::replicated;
    // In front of what is owned, that, and behind it.
    const std::array<std::int64_t, 4> borders{part.first, std::clamp(owned.first, part.first, part.last),
                                              std::clamp(owned.last, part.first, part.last), part.last};
    for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
      const bool mine = i == 1 && lowest && !unit.tied_copy;
      add(unit, slice, {borders[i], borders[i + 1]},
          {.tensor = first_tensor_ + static_cast<std::uint32_t>(s),
           .kind = kind,
           .buffer = ref,
           .offset = -origin_of_buffer,
           .owned = mine,
           .saved = mine && needed});
    }
  }
}

// Calls visit(first element, row, column, rows, columns) for the rectangles that elements [from, until) of a
// row-major matrix are.
template <typename Visit>
void for_each_rectangle(std::int64_t from, std::int64_t until, std::int64_t columns, Visit&& visit) {
  if (from < until && from % columns != 0) {
    const std::int64_t count = std::min(until, (from / columns + 1) * columns) - from;
    visit(from, from / columns, from % columns, std::int64_t{1}, count);
    from += count;
  }
  const std::int64_t rows = std::max<std::int64_t>(0, (until - from) / columns);
  if (rows > 0) visit(from, from / columns, std::int64_t{0}, rows, columns);
  from += rows * columns;
  if (from < until) visit(from, from / columns, std::int64_t{0}, std::int64_t{1}, until - from);
}

// The part of the slice that lies in `part`; `run.offset` comes as that of the flat vector's first element.
void Writer::add(const Unit& unit, const Slice& slice, Range part, StateRun run) {
  const std::int64_t end = slice.offset + slice.rows * slice.columns;
  CHECK(end <= unit.elements, slice.parameter.name, end, unit.elements);
  const std::int64_t from = std::clamp(part.first, slice.offset, end),
                     until = std::clamp(part.last, slice.offset, end);
  const bool by_rows = slice.parameter.sharding == models::Sharding::rows;
  const bool by_columns = slice.parameter.sharding == models::Sharding::columns;
  const std::int64_t first_row = by_rows ? cut_ * slice.rows : 0;
  const std::int64_t first_column = by_columns ? cut_ * slice.columns : 0;
  const std::int64_t origin = run.offset;
  for_each_rectangle(
      from - slice.offset, until - slice.offset, slice.columns,
      [&](std::int64_t at, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
        run.row = first_row + row;
        run.column = first_column + column;
        run.rows = rows;
        run.columns = columns;
        run.offset = origin + slice.offset + at;
        layout_.runs.push_back(run);
      });
}

void Writer::add_residual(const Unit& unit, BufferRef ref) {
  const schedule::Buffer& buffer = program_.buffers[ref.buffer.index()];
  const char* const copy = unit.tied_copy ? ".copy" : "";
  layout_.tensors.push_back(
      {.name = fmt::format("{}{}.residual.data{}.tensor{}", unit_name(unit), copy, data_, tensor_),
       .rows = buffer.elements});
  layout_.runs.push_back({.tensor = static_cast<std::uint32_t>(layout_.tensors.size() - 1),
                          .kind = StateKind::residual,
                          .rows = buffer.elements,
                          .columns = 1,
                          .buffer = ref,
                          .owned = true,
                          .saved = true});
  remember(ref);
}

void Writer::remember(BufferRef ref) {
  layout_.buffers.push_back({ref, program_.buffers[ref.buffer.index()].elements});
}

}  // namespace

std::string_view name(StateKind kind) {
  switch (kind) {
    case StateKind::weight:
      return "weight";
    case StateKind::master:
      return "master";
    case StateKind::moment1:
      return "moment1";
    case StateKind::moment2:
      return "moment2";
    case StateKind::gradient:
      return "gradient";
    case StateKind::residual:
      return "residual";
  }
  return "";
}

StateLayout state_layout(const Schedule& schedule, std::int64_t rank) {
  CHECK(rank >= 0 && rank < schedule.world && schedule.groups.size() > schedule::kData, rank, schedule.world);
  return Writer(schedule, rank).take();
}

std::string_view optimizer_word(const StateLayout& layout) {
  const auto has = [&](StateKind kind) {
    return std::any_of(layout.runs.begin(), layout.runs.end(), [&](const StateRun& run) { return run.kind == kind; });
  };
  if (has(StateKind::moment2)) return "adam";
  return has(StateKind::moment1) ? "sgd with momentum" : "sgd";
}

}  // namespace orrery::runtime
