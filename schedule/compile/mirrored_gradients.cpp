#include "schedule/compile/mirrored_gradients.h"

#include <algorithm>
#include <string>

#include "schedule/compile/optimizer_blocks.h"

namespace orrery::schedule {
namespace {

constexpr int kSite = 255;  // messages of activations have low numbers

}  // namespace

std::vector<MirroredUnit> mirrored_units(const Stage& s) {
  std::vector<std::uint32_t> chunks{0, 1};
  std::sort(chunks.begin(), chunks.end(), [&](std::uint32_t a, std::uint32_t b) {
    return s.placement.stage(s.index, a) < s.placement.stage(s.index, b);
  });
  std::vector<MirroredUnit> units;
  for (const std::uint32_t chunk : chunks) {
    if (s.is_first(chunk)) units.push_back({UnitKind::embedding, s.embedding_unit});
    for (std::uint32_t l = 0; l < static_cast<std::uint32_t>(s.layers_of_chunk[chunk]); ++l)
      for (const UnitKind part : s.parts_of(s.first_unit_of_chunk[chunk] + l))
        units.push_back({part, s.first_unit_of_chunk[chunk] + l});
    if (s.is_last(chunk)) units.push_back({UnitKind::head, s.head_unit});
  }
  return units;
}

BlockId sum_mirrored_gradients(Stage& s, UnitKind kind) {
  BlockBuilder b(s.schedule, s.program, "sum_mirrored_gradients", Phase::backward);
  after_reduction(s, b, kind);
  const Tensor own = own_part(s, b, kind, s.states(kind).kept_gradients);
  const auto beside = [&](const char* name) {
    return workspace(s, b, std::string(prefix(kind)) + name, s.gradient_type, 1, own.columns);
  };
  Tensor outgoing = own;
  if (own.shard_stride > 0) {  // which shard is a matter of the data group, and messages are in the pipe group
    outgoing = beside(".outgoing_gradients");
    b.add(OpKind::cast, {in(Role::x, own), out(Role::y, outgoing)}).group(s.shard_group(kind));
  }
  const Tensor other = beside(".mirrored_gradients");
  const auto peer = static_cast<int>(s.placement.ranks - 1 - 2 * s.index);
  b.add(OpKind::send, {in(Role::x, outgoing)}).group(kPipe).peer(peer).site(kSite).grouped();
  b.add(OpKind::recv, {out(Role::y, other)}).group(kPipe).peer(peer).site(kSite);
  b.add(OpKind::add, {in(Role::x, other), accumulate(Role::y, own)}).group(s.shard_group(kind));
  b.end_records(done(s, b, kind));
  return b.finish();
}

}  // namespace orrery::schedule
