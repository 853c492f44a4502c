#include "schedule/compile/stage.h"

#include "base/check.h"
#include "schedule/compile/unit_layout.h"

namespace orrery::schedule {
namespace {

Sizes local_sizes(const scenarios::Scenario& sc) {
  const models::Architecture& a = sc.model;
  const std::int64_t tp = sc.parallel.tp;
  Sizes z;
  z.batch = sc.training.micro_batch;
  z.sequence = sc.training.sequence_length / sc.parallel.cp;
  z.tokens = z.batch * z.sequence;
  z.local_tokens = sc.parallel.sequence_parallel ? z.tokens / tp : z.tokens;
  z.hidden = a.hidden;
  z.heads = a.heads / tp;
  z.kv_heads = a.kv_heads / tp;
  z.head_dim = a.head_dim;
  z.query = z.heads * a.head_dim;
  z.kv = z.kv_heads * a.head_dim;
  z.ffn = a.ffn_hidden / tp;
  z.up = models::gated(a.activation) ? 2 * z.ffn : z.ffn;
  z.vocab = sc.vocab_rows() / tp;
  return z;
}

void choose_types(Stage& s) {
  const hardware::Precision p = s.scenario.training.precision;
  s.activation_type = p == hardware::Precision::fp16   ? DataType::fp16
                      : p == hardware::Precision::bf16 ? DataType::bf16
                      : p == hardware::Precision::fp8 || p == hardware::Precision::fp4 ? DataType::bf16
                                                       : DataType::fp32;
  const scenarios::Recipe& recipe = s.scenario.recipe;
  const auto type = [&](int bytes) { return bytes == 4 ? DataType::fp32 : s.activation_type; };
  s.kept_weight_type = s.weight_type = type(recipe.weight_bytes);
  s.kept_gradient_type = s.gradient_type = s.reduce_type = type(recipe.gradient_bytes);
  if (s.zero() != 3 || recipe.gathered_bytes == 0) return;
  s.weight_type = type(recipe.gathered_bytes);
  s.reduce_type = type(recipe.reduce_bytes);
  // Whole gradients that add up over microbatches do so in the type in which they are reduced.
  s.gradient_type = s.accumulates_whole() ? s.reduce_type : s.weight_type;
}

void add_units(Stage& s) {
  const models::Architecture& a = s.model();
  const std::int64_t tp = s.scenario.parallel.tp, dp = s.replicas(),
                     vocab = s.scenario.vocab_rows();
  const Unit layer = layout_unit(UnitKind::layer, models::layer_parameters(a), tp, dp);
  for (std::size_t c = 0; c < s.layers_of_chunk.size(); ++c) {
    std::int64_t global = 0;  // the first layer of this virtual stage
    const std::int64_t stage = s.placement.stage(s.index, static_cast<std::uint32_t>(c));
    for (std::int64_t v = 0; v < stage; ++v)
      global += s.scenario.parallel.layers_of_stage[static_cast<std::size_t>(v)];
    s.first_unit_of_chunk.push_back(static_cast<std::uint32_t>(s.program.units.size()));
    for (std::int64_t l = 0; l < s.layers_of_chunk[c]; ++l) {
      s.program.units.push_back(layer);
      s.program.units.back().layer = global + l;
      s.program.units.back().tied_copy = s.is_copy(static_cast<std::uint32_t>(c));
    }
  }
  s.layer_units = static_cast<std::int64_t>(s.program.units.size());
  const bool copy = s.has_head && a.tied_embeddings && !s.has_embedding;
  if (s.has_embedding || copy) {
    std::vector<models::Parameter> parameters = models::embedding_parameters(a, vocab);
    if (copy) parameters.resize(1);  // the token table
    s.embedding_unit = static_cast<std::uint32_t>(s.program.units.size());
    s.program.units.push_back(layout_unit(UnitKind::embedding, parameters, tp, dp));
    s.program.units.back().tied_copy = copy || s.is_copy(s.embedding_chunk);
  }
  if (s.has_head) {
    s.head_unit = static_cast<std::uint32_t>(s.program.units.size());
    s.program.units.push_back(layout_unit(UnitKind::head, models::head_parameters(a, vocab), tp, dp));
    s.program.units.back().tied_copy = s.is_copy(s.head_chunk);
  }
}

// The buffers that hold one kind of unit's states; docs/models/memory.md has the table by recipe and ZeRO
// stage.
UnitStates declare_states(Stage& s, const std::string& prefix, std::int64_t elements, std::uint32_t count,
                          std::uint32_t unit_stride) {
  const scenarios::Recipe& recipe = s.scenario.recipe;
  const scenarios::Training& training = s.scenario.training;
  const std::int64_t shard = elements / s.shard.shards;
  const int zero = s.zero();
  const bool on_host = s.scenario.offload.optimizer == scenarios::OffloadTarget::cpu;
  const auto state = [&](const char* name, BufferKind kind, DataType type, std::int64_t n,
                         bool host = false) {
    return declare(s.program, {.name = prefix + "." + name,
                               .kind = kind,
                               .type = type,
                               .on_host = host,
                               .persistent = true,
                               .elements = n,
                               .instances = count});
  };
  UnitStates u;
  u.unit_stride = unit_stride;
  u.kept_weights = state("weights", BufferKind::weight, s.kept_weight_type, zero == 3 ? shard : elements);
  u.weights = u.kept_weights;
  if (zero == 3) {
    u.margin = unit_stride == 0 ? 0 : static_cast<std::uint32_t>(s.scenario.sharding.unit_layers - 1);
    u.weights = declare(s.program, {.name = prefix + ".gathered_weights",
                                    .kind = BufferKind::weight,
                                    .type = s.weight_type,
                                    .elements = elements,
                                    .instances = count + u.margin});
  }
  u.kept_gradients = state("gradients", BufferKind::gradient, s.kept_gradient_type, zero >= 2 ? shard : elements);
  u.gradients = u.kept_gradients;
  if (zero >= 2)
    u.gradients = declare(s.program, {.name = prefix + ".full_gradients",
                                      .kind = BufferKind::gradient,
                                      .type = s.gradient_type,
                                      .elements = elements,
                                      .instances = count});
  const std::int64_t states = zero >= 1 ? shard : elements;
  // The host updates a copy of its own even where the recipe has no fp32 master weights.
  u.master = u.kept_weights;
  if (recipe.master_weights || on_host)
    u.master = state("master", BufferKind::optimizer, recipe.master_weights ? DataType::fp32 : s.kept_weight_type,
                     states, on_host);
  const DataType moment = recipe.optimizer_state_bytes == 4 ? s.activation_type : DataType::fp32;
  if (training.optimizer == scenarios::Optimizer::adam) {
    u.moment1 = state("moment1", BufferKind::optimizer, moment, states, on_host);
    u.moment2 = state("moment2", BufferKind::optimizer, moment, states, on_host);
  } else if (training.optimizer == scenarios::Optimizer::sgd_momentum) {
    u.moment1 = state("momentum", BufferKind::optimizer, DataType::fp32, states, on_host);
  }
  return u;
}

void bind_unit(const Stage& s, Unit& unit, std::uint32_t instance, const UnitStates& states) {
  unit.weight_shards = s.zero() == 3 ? s.shard.shards : 1;
  unit.gradient_shards = s.shard.shards;
  unit.optimizer_shards = s.shard.shards;
  unit.shard_group = s.shard.shard_group;
  unit.replica_group = s.shard.replica_group;
  unit.weights = {states.kept_weights, instance};
  unit.gradients = {states.kept_gradients, instance};
  unit.master = {states.master, instance};
}

// Joins the adjacent matrices (or vectors) first .. last of a flat vector.
Tensor slice_of(const Unit& unit, Tensor flat, const std::string& first, const std::string& last) {
  const Slice* from = find_slice(unit, first);
  if (from == nullptr) return {};
  const Slice* to = last.empty() ? from : find_slice(unit, last);
  CHECK(to != nullptr && to->columns == from->columns, first, last);
  const std::int64_t end = to->offset + to->rows * to->columns;
  Tensor t = flat;
  t.offset += from->offset;
  t.columns = t.row_stride = from->columns;
  t.rows = (end - from->offset) / from->columns;
  return t;
}

Index unit_index(const UnitStates& states) { return {.unit_stride = states.unit_stride}; }

// Gathers refer to the layer that lies all units in flight before the first.
std::uint32_t done_margin(const Stage& s) {
  const auto unit = static_cast<std::uint32_t>(s.scenario.sharding.unit_layers);
  return s.zero() == 3 ? s.prefetch(false) * unit + 1 : 0;
}

}  // namespace

BufferId declare(Program& program, const Buffer& buffer) {
  program.buffers.push_back(buffer);
  return BufferId(program.buffers.size() - 1);
}

BufferId declare_once(Stage& s, const Buffer& buffer) {
  const auto known = s.named.find(buffer.name);
  if (known != s.named.end()) {
    CHECK(s.program.buffers[known->second.index()].elements == buffer.elements, buffer.name);
    return known->second;
  }
  const BufferId id = declare(s.program, buffer);
  s.named.emplace(buffer.name, id);
  return id;
}

std::string_view prefix(UnitKind kind) {
  switch (kind) {
    case UnitKind::embedding:
      return "embedding";
    case UnitKind::layer:
      return "layer";
    case UnitKind::head:
      return "head";
  }
  return "";
}

void prepare_stage(Stage& s, std::uint32_t slots) {
  s.program.slots = slots;
  s.z = local_sizes(s.scenario);
  s.shard = shard_plan(s.scenario, s.schedule.groups);
  choose_types(s);
  add_units(s);
  if (s.layer_units > 0)
    s.layer =
        declare_states(s, "layer", s.program.units[0].elements, static_cast<std::uint32_t>(s.layer_units), 1);
  for (std::uint32_t u = 0; u < static_cast<std::uint32_t>(s.layer_units); ++u)
    bind_unit(s, s.program.units[u], u, s.layer);
  if (s.has_embedding || (s.has_head && s.model().tied_embeddings)) {
    s.embedding = declare_states(s, "embedding", s.program.units[s.embedding_unit].elements, 1, 0);
    bind_unit(s, s.program.units[s.embedding_unit], 0, s.embedding);
  }
  if (s.has_head) {
    s.head = declare_states(s, "head", s.program.units[s.head_unit].elements, 1, 0);
    bind_unit(s, s.program.units[s.head_unit], 0, s.head);
    s.loss = declare(s.program, {.name = "loss",
                                 .kind = BufferKind::workspace,
                                 .type = DataType::fp32,
                                 .persistent = true,
                                 .elements = 1});
  }
  const auto units = static_cast<std::uint32_t>(s.program.units.size());
  s.done = declare(s.program, {.name = "done",
                               .kind = BufferKind::token,
                               .type = DataType::byte,
                               .persistent = true,
                               .elements = 0,
                               .instances = units + done_margin(s)});
  if (s.scenario.overlap.bucket_buffers > 0 && s.replicas() > 1)
    declare(s.program, {.name = "bucket",
                        .kind = BufferKind::communication,
                        .type = s.gradient_type,
                        .persistent = true,
                        .elements = s.scenario.overlap.bucket_elements,
                        .instances = static_cast<std::uint32_t>(s.scenario.overlap.bucket_buffers)});
  s.norm = declare(s.program, {.name = "gradient_norm",
                               .kind = BufferKind::workspace,
                               .type = DataType::fp32,
                               .persistent = true,
                               .elements = 1});
}

Tensor layer_tensor(Stage& s, BlockBuilder& b, const std::string& name, DataType type, Life life,
                    std::int64_t rows, std::int64_t columns) {
  const auto layers = static_cast<std::uint32_t>(s.layer_units);
  const BufferId id = declare_once(s, {.name = name,
                                       .kind = BufferKind::activation,
                                       .type = type,
                                       .elements = rows * columns,
                                       .instances = layers * s.program.slots});
  return b.tensor(id, {.unit_stride = s.program.slots, .slot_stride = 1}, life, rows, columns);
}

Tensor slot_tensor(Stage& s, BlockBuilder& b, const std::string& name, DataType type, Life life,
                   std::int64_t rows, std::int64_t columns) {
  const BufferId id = declare_once(s, {.name = name,
                                       .kind = BufferKind::activation,
                                       .type = type,
                                       .elements = rows * columns,
                                       .instances = s.program.slots});
  return b.tensor(id, {.slot_stride = 1}, life, rows, columns);
}

Tensor workspace(Stage& s, BlockBuilder& b, const std::string& name, DataType type, std::int64_t rows,
                 std::int64_t columns) {
  const BufferId id = declare_once(
      s, {.name = name, .kind = BufferKind::workspace, .type = type, .elements = rows * columns});
  return b.tensor(id, {}, Life::local, rows, columns);
}

namespace {
BufferId hidden_buffer(Stage& s) {
  const auto instances = (static_cast<std::uint32_t>(s.layer_units) + 1) * s.program.slots;
  return declare_once(s, {.name = "hidden",
                          .kind = BufferKind::activation,
                          .type = s.activation_type,
                          .elements = s.z.local_tokens * s.z.hidden,
                          .instances = instances});
}
}  // namespace

Tensor hidden_of_layer(Stage& s, BlockBuilder& b, std::uint32_t ahead, Life life) {
  const Index index{.base = ahead * s.program.slots, .unit_stride = s.program.slots, .slot_stride = 1};
  return b.tensor(hidden_buffer(s), index, life, s.z.local_tokens, s.z.hidden);
}

Tensor hidden_at(Stage& s, BlockBuilder& b, std::uint32_t unit, Life life) {
  const Index index{.base = unit * s.program.slots, .unit_stride = 0, .slot_stride = 1};
  return b.tensor(hidden_buffer(s), index, life, s.z.local_tokens, s.z.hidden);
}

Tensor hidden_gradient(Stage& s, BlockBuilder& b, Life life) {
  const std::string name = s.gradient_parity == 0 ? "hidden_gradient" : "hidden_gradient.odd";
  return slot_tensor(s, b, name, s.activation_type, life, s.z.local_tokens, s.z.hidden);
}

Tensor hidden_outgoing(Stage& s, BlockBuilder& b, Life life) {
  return slot_tensor(s, b, "hidden_outgoing", s.activation_type, life, s.z.local_tokens, s.z.hidden);
}

std::uint16_t layer_done(Stage& s, BlockBuilder& b, int ahead) {
  const auto base = static_cast<std::int64_t>(done_margin(s)) + ahead;
  CHECK(base >= 0, ahead);
  return b.token(s.done, {.base = static_cast<std::uint32_t>(base), .unit_stride = 1});
}

std::uint16_t unit_done(Stage& s, BlockBuilder& b, std::uint32_t unit) {
  return b.token(s.done, {.base = done_margin(s) + unit});
}

std::uint16_t done(Stage& s, BlockBuilder& b, UnitKind kind) {
  if (kind == UnitKind::layer) return layer_done(s, b);
  return unit_done(s, b, kind == UnitKind::head ? s.head_unit : s.embedding_unit);
}

Tensor flat_weights(Stage& s, BlockBuilder& b, UnitKind kind) {
  const UnitStates& states = s.states(kind);
  const Life life = s.zero() == 3 ? s.weights_life[static_cast<std::size_t>(kind)] : Life::bound;
  const Index index{.base = states.margin, .unit_stride = states.unit_stride};
  return b.tensor(states.weights, index, life, 1, s.unit(kind).elements);
}

Tensor flat_gradients(Stage& s, BlockBuilder& b, UnitKind kind) {
  const UnitStates& states = s.states(kind);
  const Life life = s.zero() >= 2 ? s.gradients_life[static_cast<std::size_t>(kind)] : Life::bound;
  return b.tensor(states.gradients, unit_index(states), life, 1, s.unit(kind).elements);
}

Tensor flat_kept(Stage& s, BlockBuilder& b, UnitKind kind, BufferId buffer, std::uint32_t ahead) {
  const UnitStates& states = s.states(kind);
  const std::int64_t elements = s.program.buffers[buffer.index()].elements;
  const Index index{.base = ahead * states.unit_stride, .unit_stride = states.unit_stride};
  return b.tensor(buffer, index, Life::bound, 1, elements);
}

Tensor weight_of(Stage& s, BlockBuilder& b, UnitKind kind, const std::string& first,
                 const std::string& last) {
  if (find_slice(s.unit(kind), first) == nullptr) return {};
  return slice_of(s.unit(kind), flat_weights(s, b, kind), first, last);
}

Tensor gradient_of(Stage& s, BlockBuilder& b, UnitKind kind, const std::string& first,
                   const std::string& last) {
  if (find_slice(s.unit(kind), first) == nullptr) return {};
  return slice_of(s.unit(kind), flat_gradients(s, b, kind), first, last);
}

}  // namespace orrery::schedule
