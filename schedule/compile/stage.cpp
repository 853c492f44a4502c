#include "schedule/compile/stage.h"

#include "base/check.h"
#include "schedule/compile/unit_layout.h"
#include "schedule/expert_rows.h"

namespace orrery::schedule {
namespace {

void expert_sizes(const scenarios::Scenario& sc, Sizes& z) {
  const models::Architecture& a = sc.model;
  const std::int64_t parts = models::gated(a.activation) ? 2 : 1;
  z.experts = a.experts.count / sc.parallel.ep;
  z.received = reserved_rows(sc);
  z.gathered = z.received * sc.parallel.etp;
  z.expert_ffn = a.experts.ffn_hidden / sc.parallel.etp;
  z.expert_up = parts * z.expert_ffn;
  z.shared_ffn = a.experts.shared_ffn_hidden / sc.parallel.tp;
  z.shared_up = parts * z.shared_ffn;
}

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
  if (a.experts.count > 0) expert_sizes(sc, z);
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

// In the order in which they were added, each kind has its ordinals.
Unit& add_unit(Stage& s, Unit unit) {
  const auto kind = static_cast<std::size_t>(unit.kind);
  if (s.count_of_kind[kind] == 0) s.first_of_kind[kind] = static_cast<std::uint32_t>(s.program.units.size());
  unit.ordinal = static_cast<std::int32_t>(s.count_of_kind[kind]++);
  s.program.units.push_back(std::move(unit));
  return s.program.units.back();
}

void add_experts(Stage& s) {
  const scenarios::Parallel& p = s.scenario.parallel;
  s.first_experts_unit = static_cast<std::uint32_t>(s.program.units.size());
  for (std::uint32_t u = 0; u < static_cast<std::uint32_t>(s.layer_units); ++u) {
    if (s.kind_of(u) != UnitKind::expert_layer) continue;
    Unit experts = layout_experts(models::expert_parameters(s.model()), s.z.experts, p.etp, p.edp);
    experts.layer = s.program.units[u].layer;
    experts.tied_copy = s.program.units[u].tied_copy;
    experts.cut_group = find_group(s.schedule, "expert_tensor");
    experts.expert_group = find_group(s.schedule, "expert");
    add_unit(s, std::move(experts));
  }
}

void add_units(Stage& s) {
  const models::Architecture& a = s.model();
  const std::int64_t tp = s.scenario.parallel.tp, dp = s.replicas(),
                     vocab = s.scenario.vocab_rows();
  const Unit dense = layout_unit(UnitKind::layer, models::layer_parameters(a), tp, dp);
  const Unit sparse = layout_unit(UnitKind::expert_layer, models::expert_layer_parameters(a), tp, dp);
  for (std::size_t c = 0; c < s.layers_of_chunk.size(); ++c) {
    std::int64_t global = 0;  // the first layer of this virtual stage
    const std::int64_t stage = s.placement.stage(s.index, static_cast<std::uint32_t>(c));
    for (std::int64_t v = 0; v < stage; ++v)
      global += s.scenario.parallel.layers_of_stage[static_cast<std::size_t>(v)];
    s.first_unit_of_chunk.push_back(static_cast<std::uint32_t>(s.program.units.size()));
    for (std::int64_t l = 0; l < s.layers_of_chunk[c]; ++l) {
      Unit& unit = add_unit(s, models::is_expert_layer(a, global + l) ? sparse : dense);
      unit.layer = global + l;
      unit.tied_copy = s.is_copy(static_cast<std::uint32_t>(c));
    }
  }
  s.layer_units = static_cast<std::int64_t>(s.program.units.size());
  const bool copy = s.has_head && a.tied_embeddings && !s.has_embedding;
  if (s.has_embedding || copy) {
    std::vector<models::Parameter> parameters = models::embedding_parameters(a, vocab);
    if (copy) parameters.resize(1);  // the token table
    s.embedding_unit = static_cast<std::uint32_t>(s.program.units.size());
    add_unit(s, layout_unit(UnitKind::embedding, parameters, tp, dp)).tied_copy = copy || s.is_copy(s.embedding_chunk);
  }
  if (s.has_head) {
    s.head_unit = static_cast<std::uint32_t>(s.program.units.size());
    add_unit(s, layout_unit(UnitKind::head, models::head_parameters(a, vocab), tp, dp)).tied_copy = s.is_copy(s.head_chunk);
  }
  add_experts(s);
}

// The buffers that hold one kind of unit's states; docs/models/memory.md has the table by recipe and ZeRO
// stage.
UnitStates declare_states(Stage& s, UnitKind unit_kind) {
  const std::string prefix(orrery::schedule::prefix(unit_kind));
  const std::int64_t elements = s.unit(unit_kind).elements;
  const std::uint32_t count = s.unit_count(unit_kind);
  const scenarios::Recipe& recipe = s.scenario.recipe;
  const scenarios::Training& training = s.scenario.training;
  const std::int64_t shard = elements / s.shards(unit_kind);
  const int zero = s.zero(unit_kind);
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
  const bool is_layer = unit_kind == UnitKind::layer || unit_kind == UnitKind::expert_layer;
  if (is_layer && count == static_cast<std::uint32_t>(s.layer_units))
    u.unit_stride = 1;
  else if (is_layer || unit_kind == UnitKind::experts)
    u.ordinal_stride = 1;
  u.kept_weights = state("weights", BufferKind::weight, s.kept_weight_type, zero == 3 ? shard : elements);
  u.weights = u.kept_weights;
  if (zero == 3) {
    // Layers before the first that a block of the first may name: the rest of its unit, and the unit before.
    const std::int64_t units = s.scenario.sharding.prefetch_before_kernels ? 1 : 2;
    u.margin = !is_layer ? 0 : static_cast<std::uint32_t>(units * s.scenario.sharding.unit_layers - 1);
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

void bind_unit(const Stage& s, Unit& unit) {
  const UnitStates& states = s.states(unit.kind);
  const auto instance = static_cast<std::uint32_t>(unit.ordinal);
  const std::int64_t shards = s.shards(unit.kind);
  unit.weight_shards = s.zero(unit.kind) == 3 ? shards : 1;
  unit.gradient_shards = shards;
  unit.optimizer_shards = shards;
  unit.shard_group = s.shard_group(unit.kind);
  unit.replica_group = unit.kind == UnitKind::experts ? kNoGroup : s.shard.replica_group;
  unit.weights = {states.kept_weights, instance};
  unit.gradients = {states.kept_gradients, instance};
  unit.master = {states.master, instance};
}

Tensor joined(const Slice* from, const Slice* to, Tensor flat) {
  CHECK(to != nullptr && to->columns == from->columns, from->parameter.name);
  const std::int64_t end = to->offset + to->rows * to->columns;
  Tensor t = flat;
  t.offset += from->offset;
  t.columns = t.row_stride = from->columns;
  t.rows = (end - from->offset) / from->columns;
  return t;
}

// Joins the adjacent matrices (or vectors) first .. last of a flat vector.
Tensor slice_of(const Unit& unit, Tensor flat, const std::string& first, const std::string& last) {
  const Slice* from = find_slice(unit, first);
  if (from == nullptr) return {};
  return joined(from, last.empty() ? from : find_slice(unit, last), flat);
}

// The same from the first to the last expert.
Tensor slices_of_experts(const Unit& unit, Tensor flat, const std::string& first, const std::string& last) {
  const Slice* to = nullptr;
  for (const Slice& s : unit.slices)
    if (s.parameter.name == last) to = &s;
  return joined(find_slice(unit, first), to, flat);
}

// Gathers refer to the layer that lies all units in flight before the first.
std::uint32_t done_margin(const Stage& s) {
  const auto unit = static_cast<std::uint32_t>(s.scenario.sharding.unit_layers);
  return s.zero() == 3 ? (s.prefetch(false) + (s.scenario.sharding.limit_on_host ? 1 : 0)) * unit + 1 : 0;
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
    case UnitKind::expert_layer:
      return "expert_layer";
    case UnitKind::experts:
      return "experts";
  }
  return "";
}

void prepare_stage(Stage& s, std::uint32_t slots) {
  s.program.slots = slots;
  s.z = local_sizes(s.scenario);
  s.shard = shard_plan(s.scenario, s.schedule.groups);
  choose_types(s);
  add_units(s);
  for (const UnitKind kind : {UnitKind::layer, UnitKind::expert_layer, UnitKind::experts, UnitKind::embedding, UnitKind::head})
    if (s.unit_count(kind) > 0) s.states_of_kind[static_cast<std::size_t>(kind)] = declare_states(s, kind);
  for (Unit& unit : s.program.units) bind_unit(s, unit);
  if (s.has_head) {
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

std::string workspace_name(const Stage& s, const std::string& name) { return s.workspace_apart ? "again." + name : name; }

Tensor workspace(Stage& s, BlockBuilder& b, const std::string& name, DataType type, std::int64_t rows,
                 std::int64_t columns) {
  const BufferId id = declare_once(s, {.name = workspace_name(s, name),
                                       .kind = BufferKind::workspace,
                                       .type = type,
                                       .elements = rows * columns});
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
  if (kind != UnitKind::head && kind != UnitKind::embedding) return layer_done(s, b);
  return unit_done(s, b, kind == UnitKind::head ? s.head_unit : s.embedding_unit);
}

Tensor flat_weights(Stage& s, BlockBuilder& b, UnitKind kind) {
  const UnitStates& states = s.states(kind);
  const Life life = s.zero(kind) == 3 ? s.weights_life[static_cast<std::size_t>(kind)] : Life::bound;
  Index index = unit_index(states);
  index.base = states.margin;
  return b.tensor(states.weights, index, life, 1, s.unit(kind).elements);
}

Tensor flat_gradients(Stage& s, BlockBuilder& b, UnitKind kind) {
  const UnitStates& states = s.states(kind);
  const Life life = s.zero(kind) >= 2 ? s.gradients_life[static_cast<std::size_t>(kind)] : Life::bound;
  return b.tensor(states.gradients, unit_index(states), life, 1, s.unit(kind).elements);
}

Tensor flat_kept(Stage& s, BlockBuilder& b, UnitKind kind, BufferId buffer, std::uint32_t ahead) {
  const UnitStates& states = s.states(kind);
  const std::int64_t elements = s.program.buffers[buffer.index()].elements;
  Index index = unit_index(states);
  index.base = ahead * (states.unit_stride + states.ordinal_stride);
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

Tensor expert_weights(Stage& s, BlockBuilder& b, const std::string& first, const std::string& last) {
  return slices_of_experts(s.unit(UnitKind::experts), flat_weights(s, b, UnitKind::experts), first, last);
}

Tensor expert_gradients(Stage& s, BlockBuilder& b, const std::string& first, const std::string& last) {
  return slices_of_experts(s.unit(UnitKind::experts), flat_gradients(s, b, UnitKind::experts), first, last);
}

}  // namespace orrery::schedule
