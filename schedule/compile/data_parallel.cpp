#include "schedule/compile/data_parallel.h"

#include <algorithm>

#include "base/check.h"
#include "schedule/compile/quantised.h"

namespace orrery::schedule {
namespace {

std::int64_t dp(const Stage& s, UnitKind kind) { return s.replicas(kind); }

Stream reduce_stream(const Stage& s) {
  return s.scenario.overlap.gradient_reduce ? Stream::data : Stream::compute;
}

// Columns of the i-th of n parts.
struct Range {
  std::int64_t from, count;
};
Range part(std::int64_t columns, std::int64_t i, std::int64_t n) {
  const std::int64_t from = columns * i / n;
  return {from, columns * (i + 1) / n - from};
}

// Shard i of the full vector is row i of [shards x shard]; a piece is a range of columns of every row.
void add_shard_views(std::int64_t shards, std::vector<Operand>& views, Tensor full, Range piece, bool gathers) {
  const Tensor rows = reshaped(full, shards, full.count() / shards);
  const Tensor all = columns_of(rows, piece.from, piece.count);
  const Tensor own = columns_of(own_shard(full, shards), piece.from, piece.count);
  views.push_back(in(Role::x, gathers ? own : all));
  views.push_back(out(Role::y, gathers ? all : own));
}

// One coalesced collective over the same piece of several units.
std::vector<Operand> reduction_views(Stage& s, BlockBuilder& b, UnitKind kind, std::uint32_t units,
                                     std::int64_t i, std::int64_t pieces) {
  std::vector<Operand> views;
  for (std::uint32_t u = 0; u < units; ++u) {
    const Tensor full = flat_kept(s, b, kind, s.states(kind).gradients, u);
    if (s.zero(kind) == 1) {
      add_shard_views(s.shards(kind), views, full, part(full.count() / s.shards(kind), i, pieces), false);
    } else {
      const Range piece = part(full.columns, i, pieces);
      views.push_back(accumulate(Role::y, columns_of(full, piece.from, piece.count)));
    }
  }
  return views;
}

// What a reduce_scatter wrote.
std::vector<Operand> own_shards(const std::vector<Operand>& views) {
  std::vector<Operand> own;
  for (const Operand& view : views)
    if (view.role == Role::y) own.push_back(accumulate(Role::y, view.tensor));
  return own;
}

bool has_replicas(const Stage& s, UnitKind kind) { return kind != UnitKind::experts && s.shard.replicas > 1; }

// Sums what the replicas of a shard hold.
void reduce_over_replicas(Stage& s, BlockBuilder& b, const std::vector<Operand>& shards) {
  b.add(OpKind::all_reduce, shards).on(reduce_stream(s)).group(s.shard.replica_group).shards(s.shard.shard_group);
}

// The whole gradient as it is sent: as it is, or in the type of the mixed-precision policy.
Tensor sent_gradient(Stage& s, BlockBuilder& b, UnitKind kind, Tensor full) {
  if (s.reduce_type == s.gradient_type) return full;
  const Tensor sent =
      workspace(s, b, std::string(prefix(kind)) + ".reduce_input", s.reduce_type, 1, full.columns);
  b.add(OpKind::cast, {in(Role::x, full), out(Role::y, sent)}).on(reduce_stream(s)).wait(done(s, b, kind));
  b.record(full.formal);
  return sent;
}

// Each shard of `sent`, which is `full` or a cast of it, summed into the rank's `target`.
void scatter(Stage& s, BlockBuilder& b, UnitKind kind, Tensor full, Tensor sent, Tensor target) {
  const bool itself = sent.formal == full.formal;
  if (s.scenario.compression.gradient_bits > 0)
    return scatter_quantised(s, b, {.kind = kind, .stream = reduce_stream(s), .reads_unit = itself}, sent, target);
  const Tensor rows = reshaped(sent, s.shards(kind), target.columns);
  const std::int64_t pieces = pieces_per_unit(s, kind);
  for (std::int64_t i = 0; i < pieces; ++i) {
    const Range piece = part(target.columns, i, pieces);
    b.add(OpKind::reduce_scatter, {in(Role::x, columns_of(rows, piece.from, piece.count)),
                                   out(Role::y, columns_of(target, piece.from, piece.count))})
        .on(reduce_stream(s))
        .group(s.shard_group(kind));
    if (i == 0 && itself) b.wait(done(s, b, kind));
    if (i == pieces - 1 && itself) b.record(full.formal);
  }
}

// ZeRO-2 and 3: one unit's full gradient is scattered and dies; the shard is kept, or added to what is kept.
void reduce_to_shard(Stage& s, BlockBuilder& b, UnitKind kind, bool accumulates) {
  s.gradients_life.fill(Life::dies);
  const Tensor full = flat_gradients(s, b, kind);
  const Tensor kept = flat_kept(s, b, kind, s.states(kind).kept_gradients);
  const Tensor sent = sent_gradient(s, b, kind, full);
  const bool direct = !accumulates && s.reduce_type == s.kept_gradient_type;
  const Tensor target =
      direct ? kept : workspace(s, b, std::string(prefix(kind)) + ".reduced", s.reduce_type, 1, kept.columns);
  scatter(s, b, kind, full, sent, target);
  if (has_replicas(s, kind) && (!accumulates || s.scenario.sharding.replicas_every_microbatch)) {
    reduce_over_replicas(s, b, {accumulate(Role::y, target)});
    if (direct) b.record(kept.formal);
  } else if (direct && (sent.formal != full.formal || s.scenario.compression.gradient_bits > 0)) {
    b.record(kept.formal);  // the whole gradient's event is that of an op before this one
  }
  if (direct) return;
  b.add(accumulates ? OpKind::add : OpKind::cast,
        {in(Role::x, target), accumulates ? accumulate(Role::y, kept) : out(Role::y, kept)})
      .on(reduce_stream(s))
      .record(kept.formal);
}

}  // namespace

std::uint32_t layers_per_bucket(const Stage& s, UnitKind kind) {
  const std::int64_t bucket = s.scenario.overlap.bucket_elements;
  if (s.layer_units == 0 || s.zero(kind) >= 2) return 1;
  const std::int64_t layers = bucket == 0 ? s.layer_units : bucket / s.unit(kind).elements;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(layers, 1, s.layer_units));
}

std::int64_t pieces_per_unit(const Stage& s, UnitKind kind) {
  const std::int64_t bucket = s.scenario.overlap.bucket_elements, elements = s.unit(kind).elements;
  const std::int64_t pieces = bucket == 0 ? 1 : (elements + bucket - 1) / bucket;
  return std::min(pieces, std::max<std::int64_t>(1, elements / dp(s, kind)));
}

std::uint16_t reduced_token(Stage& s, BlockBuilder& b) {
  const BufferId id = declare_once(s, {.name = "gradients_reduced",
                                       .kind = BufferKind::token,
                                       .type = DataType::byte,
                                       .persistent = true,
                                       .elements = 0});
  return b.token(id, {});
}

BlockId reduce_gradients(Stage& s, UnitKind kind, std::uint32_t units, bool accumulates) {
  BlockBuilder b(s.schedule, s.program, "reduce_gradients", Phase::backward);
  if (s.zero(kind) >= 2) {
    CHECK(units == 1, units);
    reduce_to_shard(s, b, kind, accumulates);
    return b.finish();
  }
  s.gradients_life.fill(Life::bound);
  const OpKind collective = s.zero(kind) == 1 ? OpKind::reduce_scatter : OpKind::all_reduce;
  const std::int64_t pieces = units > 1 ? 1 : pieces_per_unit(s, kind);
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::vector<Operand> views = reduction_views(s, b, kind, units, i, pieces);
    b.add(collective, views).on(reduce_stream(s)).group(s.zero(kind) == 1 ? s.shard_group(kind) : s.gradient_group(kind));
    if (i == 0) b.wait(done(s, b, kind));  // of the first unit: the last to be ready
    if (s.zero(kind) == 1 && has_replicas(s, kind)) reduce_over_replicas(s, b, own_shards(views));
    b.record(reduced_token(s, b));
  }
  return b.finish();
}

BlockId gather_updated_weights(Stage& s, UnitKind kind, std::uint32_t units) {
  BlockBuilder b(s.schedule, s.program, "gather_weights", Phase::optimizer);
  const Stream stream = s.scenario.overlap.parameter_gather ? Stream::data : Stream::compute;
  const std::int64_t pieces = units > 1 ? 1 : pieces_per_unit(s, kind);
  for (std::int64_t i = 0; i < pieces; ++i) {
    std::vector<Operand> views;
    for (std::uint32_t u = 0; u < units; ++u) {
      const Tensor full = flat_kept(s, b, kind, s.states(kind).weights, u);
      add_shard_views(s.shards(kind), views, full, part(full.count() / s.shards(kind), i, pieces), true);
    }
    b.add(OpKind::all_gather, views).on(stream).group(s.shard_group(kind));
    if (i > 0) continue;
    for (std::uint32_t u = 0; u < units; ++u) b.wait(flat_kept(s, b, kind, s.states(kind).weights, u).formal);
  }
  // Blocks wait for the event of their own unit's weights, so a message that is overlapped carries one unit;
  // on the compute stream the order is enough.
  CHECK(units == 1 || stream == Stream::compute, units);
  b.record(flat_kept(s, b, kind, s.states(kind).weights, 0).formal);
  return b.finish();
}

BlockId reduce_replicas(Stage& s, UnitKind kind) {
  BlockBuilder b(s.schedule, s.program, "reduce_replicas", Phase::backward);
  const Tensor kept = flat_kept(s, b, kind, s.states(kind).kept_gradients);
  reduce_over_replicas(s, b, {accumulate(Role::y, kept)});
  b.record(kept.formal);
  return b.finish();
}

BlockId reduce_compressed(Stage& s, UnitKind kind) {
  BlockBuilder b(s.schedule, s.program, "reduce_compressed", Phase::backward);
  const bool scattered = s.zero(kind) >= 2;
  s.gradients_life.fill(scattered ? Life::dies : Life::bound);
  const std::string name(prefix(kind));
  const Tensor full = flat_gradients(s, b, kind);
  const auto chosen = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(s.scenario.compression.top_k * static_cast<double>(full.count())));
  const Tensor selected = workspace(s, b, name + ".selected", DataType::fp32, 2, chosen);
  const Tensor gathered = workspace(s, b, name + ".selected_of_all", DataType::fp32, 2 * dp(s, kind), chosen);
  Tensor source = full, target = full;
  if (!scattered) {  // what is not sent is kept for the next step (Lin et al. 2018, section 3.1)
    const BufferId id = declare_once(s, {.name = name + ".residual",
                                         .kind = BufferKind::optimizer,
                                         .type = s.gradient_type,
                                         .persistent = true,
                                         .elements = full.count(),
                                         .instances = s.unit_count(kind)});
    source = flat_kept(s, b, kind, id);
    b.add(OpKind::add, {in(Role::x, full), accumulate(Role::y, source)});
  }
  b.add(OpKind::top_k_select,
        {scattered ? in(Role::x, source) : accumulate(Role::x, source), out(Role::y, selected)},
        {.k = chosen})
      .wait(selected.formal);
  b.add(OpKind::all_gather, {in(Role::x, selected), out(Role::y, gathered)})
      .on(reduce_stream(s))
      .group(s.gradient_group(kind))
      .record(selected.formal);
  KernelShape shape{.k = chosen};
  if (s.zero(kind) >= 1) {
    target = scattered ? flat_kept(s, b, kind, s.states(kind).kept_gradients) : own_shard(full, dp(s, kind));
    shape.m = full.count() / dp(s, kind);
  }
  if (!scattered) b.add(OpKind::fill, {out(Role::y, target)}).on(reduce_stream(s)).group(s.gradient_group(kind));
  b.add(OpKind::top_k_apply, {in(Role::x, gathered), accumulate(Role::y, target)}, shape)
      .on(reduce_stream(s))
      .group(s.gradient_group(kind))
      .record(scattered ? target.formal : reduced_token(s, b));
  return b.finish();
}

BlockId reduce_tied_embedding(Stage& s) {
  BlockBuilder b(s.schedule, s.program, "reduce_tied_embedding", Phase::backward);
  s.gradients_life.fill(Life::bound);
  b.add(OpKind::all_reduce, {accumulate(Role::y, gradient_of(s, b, UnitKind::embedding, "token"))})
      .group(kEmbedding)
      .record(done(s, b, UnitKind::embedding));
  return b.finish();
}

}  // namespace orrery::schedule
