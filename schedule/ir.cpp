// Names of the IR's enumerations and the look-ups that every consumer needs.
#include "schedule/ir.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace orrery::schedule {

std::string_view name(BufferKind kind) {
  static constexpr std::array<std::string_view, kBufferKinds> table = {
      "weight", "gradient", "optimizer", "activation", "workspace", "communication", "token"};
  const auto at = static_cast<std::size_t>(kind);
  CHECK(at < table.size(), at);
  return table[at];
}

std::string_view name(UnitKind kind) {
  static constexpr std::array<std::string_view, kUnitKinds> table = {"embedding", "layer", "head", "expert_layer",
                                                                        "experts"};
  const auto at = static_cast<std::size_t>(kind);
  CHECK(at < table.size(), at);
  return table[at];
}

std::string_view name(Extent extent) {
  static constexpr std::array<std::string_view, kExtents> table = {"fixed", "received", "gathered"};
  return table[static_cast<std::size_t>(extent)];
}

bool is_by_node(const Schedule& schedule, const Op& op) {
  return op.kind == OpKind::all_to_all && schedule.shapes[op.shape].k > 0;
}

GroupKind kind_of_group(const Schedule& schedule, std::uint8_t group) {
  if (group == kTensor) return GroupKind::tensor;
  if (group == kData) return GroupKind::data;
  if (group == kPipe) return GroupKind::pipe;
  if (group <= kEmbedding || group >= schedule.groups.size()) return GroupKind::other;
  struct Named {
    std::string_view name;
    GroupKind kind;
  };
  static constexpr std::array table = {
      Named{"pipe_backward", GroupKind::pipe}, Named{"context", GroupKind::context},
      Named{"ulysses", GroupKind::context},
      Named{"gradient", GroupKind::data},      Named{"shard", GroupKind::data},
      Named{"replica", GroupKind::data},       Named{"secondary", GroupKind::data},
      Named{"gradient_node", GroupKind::data}, Named{"gradient_across", GroupKind::data},
      Named{"mirror", GroupKind::data},
      Named{"expert", GroupKind::expert},      Named{"expert_tensor", GroupKind::expert},
      Named{"expert_data", GroupKind::data}};
  for (const Named& each : table)
    if (each.name == schedule.groups[group].name) return each.kind;
  return GroupKind::other;
}

std::uint8_t find_group(const Schedule& schedule, std::string_view name) {
  for (std::size_t g = kEmbedding + 1; g < schedule.groups.size(); ++g)
    if (schedule.groups[g].name == name) return static_cast<std::uint8_t>(g);
  return kNoGroup;
}

const View* Program::find(const Op& op, Role role) const {
  for (const View& view : views_of(op))
    if (view.role == role) return &view;
  return nullptr;
}

const Block& Program::block_of(const Op& op) const {
  CHECK(&op >= ops.data() && &op < ops.data() + ops.size());
  const auto at = static_cast<std::uint32_t>(&op - ops.data());
  // Blocks hold consecutive ranges of ops in order, so the last one that starts at or before the op is its
  // block.
  const auto next =
      std::upper_bound(blocks.begin(), blocks.end(), at,
                       [](std::uint32_t index, const Block& block) { return index < block.first_op; });
  CHECK(next != blocks.begin(), at);
  return *std::prev(next);
}

const Buffer& Program::buffer(const Block& block, const View& view) const {
  return buffers[formals[block.first_formal + view.formal].buffer.index()];
}

}  // namespace orrery::schedule
