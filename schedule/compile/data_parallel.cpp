#include "schedule/compile/data_parallel.h"

#include <algorithm>

#include "base/check.h"

namespace orrery::schedule {
namespace {

std::int64_t dp(const Stage& s) { return s.replicas(); }

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

// Shard i of the full vector is row i of [dp x shard]; a piece is a range of columns of every row.
void add_shard_views(Stage& s, std::vector<Operand>& views, Tensor full, Range piece, bool gathers) {
  const Tensor rows = reshaped(full, dp(s), full.count() / dp(s));
  const Tensor all = columns_of(rows, piece.from, piece.count);
  const Tensor own = columns_of(own_shard(full, dp(s)), piece.from, piece.count);
  views.push_back(in(Role::x, gathers ? own : all));
  views.push_back(out(Role::y, gathers ? all : own));
}

// One coalesced collective over the same piece of several units.
std::vector<Operand> reduction_views(Stage& s, BlockBuilder& b, UnitKind kind, std::uint32_t units,
                                     std::int64_t i, std::int64_t pieces) {
  std::vector<Operand> views;
  for (std::uint32_t u = 0; u < units; ++u) {
    const Tensor full = flat_kept(s, b, kind, s.states(kind).gradients, u);
    if (s.zero() == 1) {
      add_shard_views(s, views, full, part(full.count() / dp(s), i, pieces), false);
    } else {
      const Range piece = part(full.columns, i, pieces);
      views.push_back(accumulate(Role::y, columns_of(full, piece.from, piece.count)));
    }
  }
  return views;
}

// ZeRO-2 and 3: one unit's full gradient is scattered and dies; the shard is kept, or added to what is kept.
void reduce_to_shard(Stage& s, BlockBuilder& b, UnitKind kind, bool accumulates) {
  s.gradients_life.fill(Life::dies);
  const Tensor full = flat_gradients(s, b, kind);
  const Tensor kept = flat_kept(s, b, kind, s.states(kind).kept_gradients);
  const std::string name(prefix(kind));
  const Tensor target =
      accumulates ? workspace(s, b, name + ".reduced", s.gradient_type, 1, kept.columns) : kept;
  const Tensor rows = reshaped(full, dp(s), kept.columns);
  const std::int64_t pieces = pieces_per_unit(s, kind);
  for (std::int64_t i = 0; i < pieces; ++i) {
    const Range piece = part(kept.columns, i, pieces);
    b.add(OpKind::reduce_scatter, {in(Role::x, columns_of(rows, piece.from, piece.count)),
                                   out(Role::y, columns_of(target, piece.from, piece.count))})
        .on(reduce_stream(s))
        .group(s.gradient_group());
    if (i == 0) b.wait(done(s, b, kind));
    if (i == pieces - 1) b.record(full.formal);
  }
  if (accumulates)
    b.add(OpKind::add, {in(Role::x, target), accumulate(Role::y, kept)})
        .on(reduce_stream(s))
        .record(kept.formal);
}

}  // namespace

std::uint32_t layers_per_bucket(const Stage& s) {
  const std::int64_t bucket = s.scenario.overlap.bucket_elements;
  if (s.layer_units == 0) return 1;
  if (s.zero() >= 2) return 1;
  const std::int64_t layers = bucket == 0 ? s.layer_units : bucket / s.unit(UnitKind::layer).elements;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(layers, 1, s.layer_units));
}

std::int64_t pieces_per_unit(const Stage& s, UnitKind kind) {
  const std::int64_t bucket = s.scenario.overlap.bucket_elements, elements = s.unit(kind).elements;
  const std::int64_t pieces = bucket == 0 ? 1 : (elements + bucket - 1) / bucket;
  return std::min(pieces, std::max<std::int64_t>(1, elements / dp(s)));
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
  if (s.zero() >= 2) {
    CHECK(units == 1, units);
    reduce_to_shard(s, b, kind, accumulates);
    return b.finish();
  }
  s.gradients_life.fill(Life::bound);
  const OpKind collective = s.zero() == 1 ? OpKind::reduce_scatter : OpKind::all_reduce;
  const std::int64_t pieces = units > 1 ? 1 : pieces_per_unit(s, kind);
  for (std::int64_t i = 0; i < pieces; ++i) {
    b.add(collective, reduction_views(s, b, kind, units, i, pieces)).on(reduce_stream(s)).group(s.gradient_group());
    if (i == 0) b.wait(done(s, b, kind));  // of the first unit: the last to be ready
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
      add_shard_views(s, views, full, part(full.count() / dp(s), i, pieces), true);
    }
    b.add(OpKind::all_gather, views).on(stream).group(s.gradient_group());
    if (i > 0) continue;
    for (std::uint32_t u = 0; u < units; ++u) b.wait(flat_kept(s, b, kind, s.states(kind).weights, u).formal);
  }
  // Blocks wait for the event of their own unit's weights, so a message that is overlapped carries one unit;
  // on the compute stream the order is enough.
  CHECK(units == 1 || stream == Stream::compute, units);
  b.record(flat_kept(s, b, kind, s.states(kind).weights, 0).formal);
  return b.finish();
}

BlockId gather_layer(Stage& s, bool backward, bool limited) {
  BlockBuilder b(s.schedule, s.program, backward ? "gather_for_backward" : "gather_for_forward",
                 backward ? Phase::backward : Phase::forward);
  s.weights_life.fill(Life::born);
  const Tensor kept = flat_kept(s, b, UnitKind::layer, s.layer.kept_weights);
  const Tensor full = flat_weights(s, b, UnitKind::layer);
  const int ahead = static_cast<int>(s.prefetch()) + 1;
  b.add(OpKind::all_gather, {in(Role::x, kept), out(Role::y, full)})
      .on(Stream::data)
      .group(s.gradient_group())
      .wait(kept.formal)
      .wait(layer_done(s, b))  // who used the gathered copy last
      .record(full.formal);
  if (limited) b.wait(layer_done(s, b, backward ? ahead : -ahead));
  return b.finish();
}

BlockId gather_end(Stage& s, UnitKind kind) {
  BlockBuilder b(s.schedule, s.program, kind == UnitKind::head ? "gather_head" : "gather_embedding",
                 Phase::forward);
  s.weights_life.fill(Life::born);
  const Tensor kept = flat_kept(s, b, kind, s.states(kind).kept_weights);
  const Tensor full = flat_weights(s, b, kind);
  b.add(OpKind::all_gather, {in(Role::x, kept), out(Role::y, full)})
      .on(Stream::data)
      .group(s.gradient_group())
      .wait(kept.formal)
      .record(full.formal);
  // Who used the gathered copy last: the unit's own blocks or, of a tied embedding, the head's.
  b.wait(done(s, b, kind));
  if (kind == UnitKind::embedding && s.has_head) b.wait(done(s, b, UnitKind::head));
  return b.finish();
}

BlockId reduce_compressed(Stage& s, UnitKind kind) {
  BlockBuilder b(s.schedule, s.program, "reduce_compressed", Phase::backward);
  const bool scattered = s.zero() >= 2;
  s.gradients_life.fill(scattered ? Life::dies : Life::bound);
  const std::string name(prefix(kind));
  const Tensor full = flat_gradients(s, b, kind);
  const auto chosen = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(s.scenario.compression.top_k * static_cast<double>(full.count())));
  const Tensor selected = workspace(s, b, name + ".selected", DataType::fp32, 2, chosen);
  const Tensor gathered = workspace(s, b, name + ".selected_of_all", DataType::fp32, 2 * dp(s), chosen);
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
      .group(s.gradient_group())
      .record(selected.formal);
  KernelShape shape{.k = chosen};
  if (s.zero() >= 1) {
    target = scattered ? flat_kept(s, b, kind, s.states(kind).kept_gradients) : own_shard(full, dp(s));
    shape.m = full.count() / dp(s);
  }
  if (!scattered) b.add(OpKind::fill, {out(Role::y, target)}).on(reduce_stream(s)).group(s.gradient_group());
  b.add(OpKind::top_k_apply, {in(Role::x, gathered), accumulate(Role::y, target)}, shape)
      .on(reduce_stream(s))
      .group(s.gradient_group())
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
