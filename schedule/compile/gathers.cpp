#include "schedule/compile/gathers.h"

#include <algorithm>

#include "base/check.h"
#include "schedule/compile/quantised.h"
#include "schedule/kernel_work.h"

namespace orrery::schedule {
namespace {

Phase phase_of(bool backward) { return backward ? Phase::backward : Phase::forward; }
std::string suffix(UnitKind kind, bool backward) {
  return std::string(prefix(kind)) + (backward ? ".b" : ".f");
}

// Embedding and head may be used twice in a direction, so a part that comes and goes is the layers' only.
bool has_secondary(const Stage& s, UnitKind kind) {
  return s.shard.secondary > 0 && s.keep(kind) == Keep::use && (!is_end(kind) || s.shard.secondary_stays);
}
bool from_secondary(const Stage& s, UnitKind kind, bool backward) {
  return backward && has_secondary(s, kind);
}
bool keeps_secondary(const Stage& s, UnitKind kind, bool backward) {
  return !backward && has_secondary(s, kind);
}
bool quantises(const Stage& s, UnitKind kind, bool backward) {
  return s.scenario.compression.weight_bits > 0 && !from_secondary(s, kind, backward);
}
bool prepares(const Stage& s, UnitKind kind, bool backward) {
  const bool casts = s.kept_weight_type != s.weight_type && !from_secondary(s, kind, backward);
  return casts || quantises(s, kind, backward);
}

// A part of one unit's flat vector beside what is kept: an instance for every unit.
Tensor part_tensor(Stage& s, BlockBuilder& b, UnitKind kind, const char* name, std::int64_t elements,
                   DataType type, Life life, bool persistent = false) {
  const BufferId id = declare_once(s, {.name = std::string(prefix(kind)) + name,
                                       .kind = persistent ? BufferKind::weight : BufferKind::communication,
                                       .type = type,
                                       .persistent = persistent,
                                       .elements = elements,
                                       .instances = s.unit_count(kind)});
  return b.tensor(id, unit_index(s.states(kind)), persistent ? Life::bound : life, 1,
                  elements);
}

Tensor sent_shard(Stage& s, BlockBuilder& b, UnitKind kind, Life life) {
  const std::int64_t elements = s.unit(kind).elements / s.shards(kind);
  if (s.scenario.compression.weight_bits > 0)
    return part_tensor(s, b, kind, ".weight_codes", payload_bytes(elements, quantised_weights(s)),
                       DataType::byte, life);
  return part_tensor(s, b, kind, ".sent_weights", elements, s.weight_type, life);
}
Tensor secondary_shard(Stage& s, BlockBuilder& b, UnitKind kind, Life life) {
  return part_tensor(s, b, kind, ".secondary_weights", s.unit(kind).elements / s.shard.secondary, s.weight_type,
                     life, s.shard.secondary_stays);
}
// What all ranks' codes are before they are weights again: a row for each rank.
Tensor gathered_codes(Stage& s, BlockBuilder& b, UnitKind kind, Life life) {
  const std::int64_t payload = payload_bytes(s.unit(kind).elements / s.shards(kind), quantised_weights(s));
  return reshaped(part_tensor(s, b, kind, ".gathered_codes", s.shards(kind) * payload, DataType::byte, life),
                  s.shards(kind), payload);
}

// The shard in the type that travels.
BlockId prepare_block(Stage& s, UnitKind kind, bool backward) {
  const bool packs = quantises(s, kind, backward);
  BlockBuilder b(s.schedule, s.program, packs ? "quantise_shard" : "cast_shard", phase_of(backward));
  const Tensor kept = flat_kept(s, b, kind, s.states(kind).kept_weights);
  b.add(packs ? OpKind::quantise : OpKind::cast,
        {in(Role::x, kept), out(Role::y, sent_shard(s, b, kind, Life::born))},
        packs ? quantised_weights(s) : KernelShape{})
      .on(Stream::data)
      .wait(kept.formal);
  return b.finish();
}

const char* gather_name(UnitKind kind, bool backward) {
  switch (kind) {
    case UnitKind::layer:
    case UnitKind::expert_layer:
    case UnitKind::experts:
      return backward ? "gather_for_backward" : "gather_for_forward";
    case UnitKind::embedding:
      return "gather_embedding";
    case UnitKind::head:
      return "gather_head";
  }
  return "";
}

struct GatherMode {
  bool backward = false, grouped = false;
  int behind = 0;  // the layer whose end is awaited, relative to this one; 0: none
  int freed_by = 0;  // and the one with which this one's weights ended the last time, where that is another
};

BlockId gather_block(Stage& s, UnitKind kind, const GatherMode& mode) {
  const bool secondary = from_secondary(s, kind, mode.backward);
  BlockBuilder b(s.schedule, s.program, gather_name(kind, mode.backward), phase_of(mode.backward));
  s.weights_life.fill(Life::born);
  const Tensor kept = flat_kept(s, b, kind, s.states(kind).kept_weights);
  const Tensor source = secondary                          ? secondary_shard(s, b, kind, Life::dies)
                        : prepares(s, kind, mode.backward) ? sent_shard(s, b, kind, Life::dies)
                                                           : kept;
  const Tensor full = quantises(s, kind, mode.backward) ? gathered_codes(s, b, kind, Life::born)
                                                        : flat_weights(s, b, kind);
  b.add(OpKind::all_gather, {in(Role::x, source), out(Role::y, full)})
      .on(Stream::data)
      .group(secondary ? s.shard.secondary_group : s.shard_group(kind));
  if (source.formal == kept.formal) b.wait(kept.formal);
  b.wait(done(s, b, kind)).record(full.formal);  // behind who used the gathered copy last
  // Of a tied embedding, that may have been the head.
  if (kind == UnitKind::embedding && s.has_head) b.wait(done(s, b, UnitKind::head));
  if (mode.behind != 0) b.wait(layer_done(s, b, mode.behind));
  if (mode.freed_by != 0) b.wait(layer_done(s, b, mode.freed_by));
  if (mode.grouped) b.grouped();
  return b.finish();
}

// Weights from what was gathered of their codes.
BlockId unpack_block(Stage& s, UnitKind kind, bool backward) {
  BlockBuilder b(s.schedule, s.program, "dequantise_weights", phase_of(backward));
  s.weights_life.fill(Life::born);
  const Tensor full = flat_weights(s, b, kind);
  b.add(OpKind::dequantise,
        {in(Role::x, gathered_codes(s, b, kind, Life::dies)),
         out(Role::y, reshaped(full, s.shards(kind), full.count() / s.shards(kind)))},
        quantised_weights(s))
      .on(Stream::data)
      .record(full.formal);
  return b.finish();
}

// Each rank of a node keeps its part of what was gathered, for the backward.
BlockId keep_block(Stage& s, UnitKind kind) {
  BlockBuilder b(s.schedule, s.program, "keep_secondary", Phase::forward);
  s.weights_life.fill(Life::bound);
  const Tensor full = flat_weights(s, b, kind);
  b.add(OpKind::cast, {in(Role::x, own_shard(full, s.shard.secondary)),
                       out(Role::y, secondary_shard(s, b, kind, Life::born))})
      .on(Stream::data)
      .group(s.shard.secondary_group)
      .record(full.formal);
  return b.finish();
}

BlockId limit_block(Stage& s, bool backward, int behind) {
  BlockBuilder b(s.schedule, s.program, "limit_gathers", phase_of(backward));
  b.add(OpKind::host_wait, {}).on(Stream::host).wait(layer_done(s, b, behind));
  return b.finish();
}

}  // namespace

Gathers::Run Gathers::run_of(std::uint32_t layer) const {
  const auto size = static_cast<std::uint32_t>(stage_.scenario.sharding.unit_layers);
  const std::uint32_t first = first_layer_ + (layer - first_layer_) / size * size;
  return {first, std::min(size, first_layer_ + layers_ - first)};
}

bool Gathers::gathers(UnitKind kind, bool backward, bool first) const {
  if (stage_.zero() != 3) return false;
  switch (stage_.keep(kind)) {
    case Keep::use:
      return true;
    case Keep::microbatch:
      return !backward;
    case Keep::step:
      return !backward && first;
  }
  return false;
}

bool Gathers::stays_live(Run run) const {
  return run.first + stage_.scenario.sharding.live_layers >= stage_.layer_units;
}

void Gathers::begin(const std::vector<std::uint32_t>& order, std::uint32_t first_layer, bool backward,
                    bool first) {
  active_ = gathers(UnitKind::layer, backward, first);
  first_layer_ = first_layer;
  layers_ = static_cast<std::uint32_t>(order.size());
  backward_ = backward;
  gathered_ = 0;
  runs_.clear();
  run_at_.clear();
  for (const std::uint32_t layer : order) {
    const Run run = run_of(layer);
    if (runs_.empty() || runs_.back().first != run.first) runs_.push_back(run);
    run_at_.push_back(runs_.size() - 1);
  }
}

void Gathers::gather_until(std::size_t end) {
  for (; gathered_ < std::min(runs_.size(), end); ++gathered_)
    if (!backward_ || !stays_live(runs_[gathered_])) gather(runs_[gathered_]);
}

void Gathers::until(std::size_t position) {
  if (!active_) return;
  const bool ahead = backward_ || stage_.scenario.sharding.prefetch_before_kernels;
  gather_until(run_at_[position] + (ahead ? stage_.prefetch(backward_) : 0) + 1);
}

void Gathers::behind(std::size_t position) {
  const scenarios::Sharding& s = stage_.scenario.sharding;
  if (!active_ || (backward_ ? s.backward_prefetch != scenarios::BackwardPrefetch::post : s.prefetch_before_kernels)) return;
  if (position + 1 < run_at_.size() && run_at_[position + 1] == run_at_[position]) return;  // the unit goes on
  gather_until(run_at_[position] + std::max(stage_.prefetch(backward_), 1U) + 1);
}

bool Gathers::ends_late(bool backward) const {
  return !backward && stage_.zero() == 3 && !stage_.scenario.sharding.prefetch_before_kernels &&
         stage_.scenario.sharding.live_layers == 0 && stage_.keep(UnitKind::layer) == Keep::use &&
         stage_.prefetch(false) > 0;
}

int Gathers::freed_late(Run run) const {
  if (!ends_late(false) || run.first + run.count >= first_layer_ + layers_) return 0;
  const Run next = run_of(run.first + run.count);
  return static_cast<int>(next.first + next.count - 1 - run.first);
}

void Gathers::gather(Run run) {
  // Units in flight: the gather follows the last layer that the one so far back has for this direction.
  // A host that waits counts units whose kernels it has issued: before those of the unit at work, one less.
  const scenarios::Sharding& sharding = stage_.scenario.sharding;
  const bool uncounted = sharding.limit_on_host && stage_.prefetch(backward_) > 0 &&
                         (backward_ || sharding.prefetch_before_kernels);
  const std::int64_t apart = (std::int64_t{stage_.prefetch(backward_)} + (uncounted ? 2 : 1)) * sharding.unit_layers;
  const std::int64_t awaited =
      backward_ ? run.first + apart
                : std::int64_t{run.first} - apart + stage_.scenario.sharding.unit_layers - 1;
  const bool limited =
      stage_.keep(UnitKind::layer) == Keep::use && awaited >= 0 && awaited < stage_.layer_units;
  const bool on_host = limited && sharding.limit_on_host;
  const auto behind = static_cast<int>(awaited - run.first);
  if (on_host)
    emit_("limit." + std::to_string(behind), run.first,
          [&] { return limit_block(stage_, backward_, behind); });
  for (const UnitKind part : stage_.parts_of(run.first))
    if (stage_.zero(part) == 3) gather_part(run, part, limited && !on_host ? behind : 0);
}

void Gathers::gather_part(Run run, UnitKind kind, int behind) {
  const std::string name = suffix(kind, backward_);
  const auto each = [&](const std::string& key, const std::function<BlockId(std::uint32_t)>& write) {
    for (std::uint32_t i = 0; i < run.count; ++i)
      emit_(key + (i + 1 < run.count ? ".more" : "") + (i > 0 ? ".next" : ""), run.first + i,
            [&] { return write(i); });
  };
  if (prepares(stage_, kind, backward_))
    each("prepare." + name, [&](std::uint32_t) { return prepare_block(stage_, kind, backward_); });
  const int late = freed_late(run);
  std::string key = "gather." + name + (behind != 0 ? ".limited" + std::to_string(behind) : "");
  if (late != 0) key += ".late" + std::to_string(late);
  each(key, [&](std::uint32_t i) {
    return gather_block(stage_, kind,
                        {.backward = backward_, .grouped = i + 1 < run.count, .behind = i == 0 ? behind : 0,
                         .freed_by = i == 0 ? late : 0});
  });
  if (quantises(stage_, kind, backward_))
    each("unpack." + name, [&](std::uint32_t) { return unpack_block(stage_, kind, backward_); });
  if (keeps_secondary(stage_, kind, backward_) && !stays_live(run))
    each("keep." + name, [&](std::uint32_t) { return keep_block(stage_, kind); });
}

std::uint32_t Gathers::released_by(std::uint32_t layer, bool backward, bool last) const {
  if (stage_.zero() != 3) return 1;  // its own, which stay all the same
  const Keep keep = stage_.keep(UnitKind::layer);
  if (keep != Keep::use && !backward) return 0;
  if (keep == Keep::step && !last) return 0;
  const Run run = run_of(layer);
  if (!backward && stays_live(run)) return 0;
  const std::uint32_t end = backward ? run.first : run.first + run.count - 1;
  if (layer != end) return 0;
  if (!ends_late(backward)) return run.count;
  const auto before = run.first == first_layer_ ? 0U : static_cast<std::uint32_t>(stage_.scenario.sharding.unit_layers);
  return before == 0 && spared_by(layer) > 0 ? 0 : before + run.count;
}

std::uint32_t Gathers::spared_by(std::uint32_t layer) const {
  const Run run = run_of(layer);
  const std::uint32_t end = run.first + run.count;
  return ends_late(false) && layer + 1 == end && end < first_layer_ + layers_ ? run.count : 0;
}

void Gathers::gather_end(UnitKind kind, bool backward) {
  const std::uint32_t unit = kind == UnitKind::head ? stage_.head_unit : stage_.embedding_unit;
  const std::string name = suffix(kind, backward);
  if (prepares(stage_, kind, backward))
    emit_("prepare." + name, unit, [&] { return prepare_block(stage_, kind, backward); });
  emit_("gather." + name, unit, [&] { return gather_block(stage_, kind, {.backward = backward}); });
  if (quantises(stage_, kind, backward))
    emit_("unpack." + name, unit, [&] { return unpack_block(stage_, kind, backward); });
  if (keeps_secondary(stage_, kind, backward))
    emit_("keep." + name, unit, [&] { return keep_block(stage_, kind); });
}

void Gathers::embedding(bool backward, bool first) {
  if (gathers(UnitKind::embedding, backward, first)) gather_end(UnitKind::embedding, backward);
}

void Gathers::head(bool backward, bool first) {
  if (gathers(UnitKind::head, backward, first)) gather_end(UnitKind::head, backward);
  if (!stage_.model().tied_embeddings) return;
  // What stays gathered for the embedding's own forward is there already.
  const bool held = stage_.has_embedding && stage_.keep(UnitKind::embedding) != Keep::use;
  if (!held && gathers(UnitKind::embedding, backward, first)) gather_end(UnitKind::embedding, backward);
}

}  // namespace orrery::schedule
