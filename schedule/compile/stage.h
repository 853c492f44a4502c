// One pipeline stage's program while it is being compiled: local sizes, unit layouts, buffers. The files that
// write blocks (embedding_blocks, layer_forward, layer_backward, head_blocks, ...) and the passes share it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.h"
#include "schedule/compile/block_builder.h"
#include "schedule/compile/placement.h"
#include "schedule/compile/sharding.h"
#include "schedule/ir.h"

namespace orrery::schedule {

// Local (per rank) sizes of one microbatch and one layer.
struct Sizes {
  std::int64_t tokens = 0;  // T = micro_batch * the positions that are here, sequence / cp
  std::int64_t local_tokens =
      0;  // rows of the residual stream here: T / tp under sequence parallelism, else T
  std::int64_t hidden = 0;
  std::int64_t query = 0, kv = 0;  // columns of q; of k and of v
  std::int64_t ffn = 0;            // columns of the activation's output
  std::int64_t up = 0;             // columns of its input: 2 ffn where gated
  std::int64_t vocab = 0;          // rows of the vocabulary here
  std::int64_t batch = 0, sequence = 0, heads = 0, kv_heads = 0, head_dim = 0;
  // Layers with experts. Their `ffn` and `up` are those of the shared experts.
  std::int64_t experts = 0;                       // of this rank
  std::int64_t received = 0, gathered = 0;        // reserved rows (Extent)
  std::int64_t expert_ffn = 0, expert_up = 0;     // columns
  std::int64_t shared_ffn = 0, shared_up = 0;
};

// The states of one kind of unit. `weights` is what blocks compute with and `gradients` what they accumulate
// into; under ZeRO these are temporary, gathered from and reduced to what is kept.
struct UnitStates {
  BufferId weights, kept_weights;
  BufferId gradients, kept_gradients;
  BufferId master, moment1, moment2;
  // Which instance a call means: one a layer, or one a layer of that kind; embedding, head: 0.
  std::uint32_t unit_stride = 0, ordinal_stride = 0;
  std::uint32_t margin = 0;  // instances of gathered weights before the first unit's, never used
};

inline Index unit_index(const UnitStates& states) {
  return {.unit_stride = states.unit_stride, .ordinal_stride = states.ordinal_stride};
}

struct Stage {
  const scenarios::Scenario& scenario;
  Schedule& schedule;
  Program& program;
  std::int64_t index = 0;  // pipeline coordinate
  Placement placement{};
  std::int64_t chunks = 1;  // of this rank
  std::vector<std::int64_t> layers_of_chunk{};
  std::vector<std::uint32_t> first_unit_of_chunk{};  // units are layers in chunk order
  std::vector<std::uint32_t> parity_of_chunk{};      // see hidden_gradient
  std::uint32_t embedding_chunk = 0, head_chunk = 0;  // where they are here
  std::int64_t layer_units = 0;
  bool has_embedding = false, has_head = false;
  bool tied_here = false;    // tied embedding, and both ends are on this stage
  bool tied_across = false;  // tied embedding, this stage holds one of the two copies
  Sizes z{};
  ShardPlan shard{};
  // What blocks compute with and accumulate into, and what is kept between steps; the same but under FSDP's
  // mixed-precision policy, which also says in which type gradients are reduced.
  DataType activation_type = DataType::bf16, weight_type = DataType::bf16, gradient_type = DataType::fp32;
  DataType kept_weight_type = DataType::bf16, kept_gradient_type = DataType::fp32, reduce_type = DataType::fp32;
  std::uint32_t embedding_unit = 0, head_unit = 0;
  std::uint32_t first_experts_unit = 0;  // units of the layers' experts, by ordinal
  std::array<UnitStates, kUnitKinds> states_of_kind{};
  std::array<std::uint32_t, kUnitKinds> first_of_kind{}, count_of_kind{};  // units; none: count 0
  BufferId norm{}, loss{}, done{};
  // How the block that is being written treats the weights and gradients of each kind of unit (index:
  // UnitKind).
  std::array<Life, kUnitKinds> weights_life{}, gradients_life{};  // bound
  UnitKind layer_kind = UnitKind::layer;  // of the layer whose block is being written
  std::uint32_t gradient_parity = 0;  // of the chunk whose backward is being written; see hidden_gradient
  // The block that is being written runs together with another (F&B): its collectives have a stream of their own, and
  // behind each of them it can be cut.
  bool joined = false;
  // A recomputation may run together with another microbatch's forward, so its workspace has names of its own.
  bool workspace_apart = false;
  std::int64_t deferred = 0;  // microbatches whose output weight gradient waits: schedule/compile/deferred_head.h
  bool splits_backward = false;  // weight gradients are another block: what it needs is kept (schedule of B and W)
  std::map<std::string, BufferId> named{};  // activations and workspace, declared at first use

  bool tensor_parallel() const { return scenario.parallel.tp > 1; }
  bool sequence_parallel() const { return scenario.parallel.sequence_parallel; }
  // Row chunks of a GEMM beside which tensor-parallel collectives travel.
  std::int64_t row_chunks() const { return tensor_parallel() ? scenario.overlap.tensor_chunks : 1; }
  // Clipping needs the gradients' norm; fp16 needs it to see whether a scaled loss overflowed.
  bool needs_norm() const {
    return scenario.training.clip_gradient_norm > 0.0 || scenario.training.precision == hardware::Precision::fp16;
  }
  // Whose members hold the same dense weights: over it gradients are reduced, and ZeRO shards (or over a part of it).
  std::int64_t replicas() const { return scenario.parallel.replicas(); }
  std::uint8_t gradient_group() const { return shard.gradient_group; }
  // Context parallelism: members of the ring, ranks that exchange heads (schedule/positions.h).
  bool context_parallel() const { return scenario.parallel.cp > 1; }
  std::int64_t ring() const { return scenario.parallel.cp / scenario.parallel.ulysses; }
  std::int64_t ulysses() const { return scenario.parallel.ulysses; }
  int zero() const { return replicas() > 1 ? scenario.parallel.zero : 0; }
  // The same of a kind of unit: experts have other replicas.
  std::int64_t replicas(UnitKind kind) const {
    return kind == UnitKind::experts ? scenario.parallel.edp : replicas();
  }
  std::uint8_t gradient_group(UnitKind kind) const {
    return kind == UnitKind::experts ? find_group(schedule, "expert_data") : gradient_group();
  }
  int zero(UnitKind kind) const { return replicas(kind) > 1 ? zero() : 0; }
  std::int64_t shards(UnitKind kind) const {
    if (kind != UnitKind::experts) return shard.shards;
    return zero(kind) > 0 ? replicas(kind) : 1;
  }
  std::uint8_t shard_group(UnitKind kind) const {
    return kind == UnitKind::experts ? gradient_group(kind) : shard.shard_group;
  }
  // ZeRO-3: units of layers gathered ahead.
  std::uint32_t prefetch(bool backward) const {
    const std::int64_t units = (layer_units + scenario.sharding.unit_layers - 1) / scenario.sharding.unit_layers;
    return static_cast<std::uint32_t>(
        std::min(backward ? scenario.overlap.prefetch_backward : scenario.overlap.prefetch_units, units));
  }
  Keep keep(UnitKind kind) const { return zero() == 3 ? keep_of(scenario.sharding, kind) : Keep::step; }
  // The name of a backward block that differs in the last microbatch, where weights stay gathered for the step.
  std::string step_ends(std::string block, UnitKind kind, bool last) const {
    return last && zero() == 3 && keep(kind) == Keep::step ? block + ".last" : block;
  }
  // ZeRO-2, 3: whole gradients add up over the microbatches, and only the last one's backward reduces them.
  bool accumulates_whole() const {
    return zero() >= 2 && !scenario.sharding.reduce_every_microbatch && schedule.microbatches > 1;
  }
  // Full recomputation: so many layers of a chunk, its first ones; the others keep their activations.
  std::uint32_t recomputed_layers(std::uint32_t chunk) const {
    const scenarios::Training& t = scenario.training;
    if (t.recompute != scenarios::Recompute::full) return 0;
    if (t.recompute_layers.empty()) return static_cast<std::uint32_t>(layers_of_chunk[chunk]);
    return static_cast<std::uint32_t>(t.recompute_layers[static_cast<std::size_t>(placement.stage(index, chunk))]);
  }
  bool overlaps_pipe() const { return scenario.overlap.pipeline; }
  bool is_first(std::uint32_t chunk) const { return placement.is_first(index, chunk); }
  bool is_last(std::uint32_t chunk) const { return placement.is_last(index, chunk); }
  // Of a stage that another rank has, too, as its chunk 0.
  bool is_copy(std::uint32_t chunk) const {
    return placement.kind == scenarios::PlacementKind::mirrored && chunk == 1;
  }
  const models::Architecture& model() const { return scenario.model; }
  const UnitStates& states(UnitKind kind) const { return states_of_kind[static_cast<std::size_t>(kind)]; }
  std::uint32_t unit_count(UnitKind kind) const { return count_of_kind[static_cast<std::size_t>(kind)]; }
  const Unit& unit(UnitKind kind) const {  // a representative
    return program.units[first_of_kind[static_cast<std::size_t>(kind)]];
  }
  UnitKind kind_of(std::uint32_t unit) const { return program.units[unit].kind; }
  // How many of the layers from `first` on, at most `most`, are of its kind.
  std::uint32_t same_kind(std::uint32_t first, std::uint32_t most) const {
    std::uint32_t count = 1;
    while (count < most && first + count < static_cast<std::uint32_t>(layer_units) && kind_of(first + count) == kind_of(first))
      ++count;
    return count;
  }
  // The units that a layer is made of; every block of one of them is called for the layer, but for its update.
  std::vector<UnitKind> parts_of(std::uint32_t layer) const {
    if (kind_of(layer) == UnitKind::expert_layer) return {UnitKind::expert_layer, UnitKind::experts};
    return {UnitKind::layer};
  }
  std::uint32_t unit_of_part(std::uint32_t layer, UnitKind part) const {
    return part == UnitKind::experts ? first_experts_unit + static_cast<std::uint32_t>(program.units[layer].ordinal) : layer;
  }
};

// Fills sizes, units and state buffers. `slots`: microbatches in flight.
void prepare_stage(Stage& stage, std::uint32_t slots);

BufferId declare(Program& program, const Buffer& buffer);
// The same at first use; later the buffer of that name.
BufferId declare_once(Stage& s, const Buffer& buffer);

std::string_view prefix(UnitKind kind);  // "layer", "embedding", ...: of buffers of one kind of unit

// A buffer kept per (layer, microbatch) from forward to backward; a buffer of one microbatch; a buffer of one
// block.
Tensor layer_tensor(Stage& s, BlockBuilder& b, const std::string& name, DataType type, Life life,
                    std::int64_t rows, std::int64_t columns);
Tensor slot_tensor(Stage& s, BlockBuilder& b, const std::string& name, DataType type, Life life,
                   std::int64_t rows, std::int64_t columns);
Tensor workspace(Stage& s, BlockBuilder& b, const std::string& name, DataType type, std::int64_t rows,
                 std::int64_t columns);
std::string workspace_name(const Stage& s, const std::string& name);

// The residual stream at the input of a layer (`ahead` = 0) or at its output (1); of the first layer (the
// embedding writes it); behind the last (the head reads it).
Tensor hidden_of_layer(Stage& s, BlockBuilder& b, std::uint32_t ahead, Life life);
Tensor hidden_at(Stage& s, BlockBuilder& b, std::uint32_t unit, Life life);
// With several chunks, the output of a chunk that is sent on: what comes in for the next chunk is another
// value.
Tensor hidden_outgoing(Stage& s, BlockBuilder& b, Life life);
// Its gradient: one per microbatch, transformed in place from layer to layer. Neighbouring chunks have one
// each, since a chunk's may still be on its way out when the next comes in; where the neighbour is on the same rank
// they share it.
Tensor hidden_gradient(Stage& s, BlockBuilder& b, Life life);

// The event behind the last block of a unit, forward or backward, that was issued: of the call's layer, or of
// a later or earlier one (ZeRO-3 has events for prefetch + 1 layers before the first; they never happen); of
// a unit by number.
std::uint16_t layer_done(Stage& s, BlockBuilder& b, int ahead = 0);
std::uint16_t unit_done(Stage& s, BlockBuilder& b, std::uint32_t unit);
std::uint16_t done(Stage& s, BlockBuilder& b, UnitKind kind);  // of the call's unit of that kind

// A named weight (or its gradient) of the call's unit, as [rows x columns]; `last` joins the slices from
// `first` on.
Tensor weight_of(Stage& s, BlockBuilder& b, UnitKind kind, const std::string& first,
                 const std::string& last = {});
Tensor gradient_of(Stage& s, BlockBuilder& b, UnitKind kind, const std::string& first,
                   const std::string& last = {});
// The same of all experts of the layer, one below the other.
Tensor expert_weights(Stage& s, BlockBuilder& b, const std::string& first, const std::string& last);
Tensor expert_gradients(Stage& s, BlockBuilder& b, const std::string& first, const std::string& last);
// The whole flat vectors.
Tensor flat_weights(Stage& s, BlockBuilder& b, UnitKind kind);
Tensor flat_gradients(Stage& s, BlockBuilder& b, UnitKind kind);
// The same of a buffer that is kept between steps (weights, gradients, optimizer states); `ahead`: of a later
// unit.
Tensor flat_kept(Stage& s, BlockBuilder& b, UnitKind kind, BufferId buffer, std::uint32_t ahead = 0);

}  // namespace orrery::schedule
