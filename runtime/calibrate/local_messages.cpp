#include "runtime/calibrate/local_messages.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "kernels/float_types.h"
#include "runtime/comm/flat_cursor.h"

namespace orrery::runtime {
namespace {

using schedule::DataType;
using schedule::OpKind;
using schedule::Role;

struct Side {
  std::vector<Piece> pieces;
  std::int64_t element_bytes = 1;
  DataType type = DataType::fp32;
};

Side side_of(const OpCall& call, const Device& device, bool read) {
  Side side;
  const auto views = call.views();
  for (std::size_t i = 0; i < views.size(); ++i) {
    const schedule::View& v = *views[i].view;
    if (v.count() == 0 || (v.role == Role::x) != read) continue;
    side.type = call.plan->buffer(call.plan->allocations[views[i].allocation]).type;
    side.element_bytes = device.element_bytes(side.type);
    side.pieces.push_back({call.data[i], v.rows, v.columns, v.rows == 1 ? v.columns : v.row_stride});
  }
  return side;
}

void copy_chunk(const Side& from, Chunk from_chunk, const Side& to, Chunk to_chunk) {
  FlatCursor source(from.pieces, from_chunk, from.element_bytes),
      target(to.pieces, to_chunk, to.element_bytes);
  copy_elements(source, target, std::min(source.left(), target.left()), to.element_bytes);
}

// Numbers in -0.1 .. 0.1, as many as fit into a page of any type.
template <typename T>
void write_pattern(std::byte* to, std::int64_t count) {
  T* const values = reinterpret_cast<T*>(to);
  for (std::int64_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(0.1F * (static_cast<float>((i * 37 + 11) % 64) / 32.0F - 1.0F));
}

void write_run(DataType type, std::int64_t element_bytes, FlatCursor::Run run) {
  if (element_bytes == 8) return write_pattern<double>(run.data, run.count);
  switch (type) {
    case DataType::fp32:
      return write_pattern<float>(run.data, run.count);
    case DataType::bf16:
      return write_pattern<kernels::bf16>(run.data, run.count);
    case DataType::fp16:
      return write_pattern<kernels::fp16>(run.data, run.count);
    case DataType::int32:
    case DataType::byte:
    case DataType::fp8:
    case DataType::fp4:
      break;
  }
  std::memset(run.data, 0, static_cast<std::size_t>(run.count * element_bytes));
}

// The first run is computed, what follows is copied from it.
void write_numbers(const Side& to) {
  constexpr std::int64_t kPattern = 2048;
  FlatCursor cursor(to.pieces, {}, to.element_bytes);
  alignas(64) std::byte pattern[kPattern * 8];
  write_run(to.type, to.element_bytes, {pattern, kPattern});
  while (cursor.left() > 0) {
    const FlatCursor::Run run = cursor.peek(kPattern);
    std::memcpy(run.data, pattern, static_cast<std::size_t>(run.count * to.element_bytes));
    cursor.advance(run.count);
  }
}

}  // namespace

void stand_in_for_message(const OpCall& call, const Device& device) {
  const PlannedOp& op = call.op();
  const schedule::Group& group = call.plan->schedule->groups[op.op->group];
  const Side x = side_of(call, device, true), y = side_of(call, device, false);
  const OpKind kind = op.op->kind;
  if (kind == OpKind::all_gather)
    for (std::int64_t i = 0; i < group.size; ++i) copy_chunk(x, {}, y, {i, group.size});
  if (kind == OpKind::reduce_scatter) copy_chunk(x, {group.index(call.plan->rank), group.size}, y, {});
  if (kind == OpKind::all_to_all) copy_chunk(x, {}, y, {});
  if (kind == OpKind::recv) write_numbers(y);
}

}  // namespace orrery::runtime
