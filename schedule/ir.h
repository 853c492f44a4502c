// The Schedule: what every rank does in one training step, compiled once, run by two machines (the simulator gives it
// time, the runtime performs it). docs/schedule.md explains it by example.
//
//  - A rank's op list is the order in which its host ISSUES. A stream is the restriction of that list. Streams plus
//    events (record / wait, as in CUDA) are the whole meaning of "after".
//  - Layers repeat, so a program is a list of CALLS of BLOCKS, some of them inside a REPEAT over microbatches. A call
//    binds a block's formals to instances of buffers: base + unit_stride * unit + slot_stride * (microbatch % slots).
//  - Distinct programs are stored once: rank -> program, groups and peers are formulas over the rank grid.
//  - Buffers are allocated and freed in host issue order by the ops that say so, so the peak does not depend on time.
//
// Everything is flat vectors of trivially copyable structs. Cost: a 126-layer model on 16 stages is about 3 MB.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "models/architecture.h"
#include "schedule/op.h"

namespace orrery::schedule {

// --- ranks and groups ---------------------------------------------------------------------------------------------

// A set of groups: rank r has coordinate (r / stride) % period on one axis of the rank grid; its index in its group is
// coordinate / step, and member i is `i * step * stride` behind the first. Usually step = 1 and period = size: the
// groups partition the world. The embedding group picks two of the pipe axis: period = pp, step = pp - 1, size = 2
// (only ranks whose coordinate is a multiple of `step` belong to one).
struct Group {
  std::string name;
  std::int64_t stride = 1;
  std::int64_t size = 1;
  std::int64_t period = 1;
  std::int64_t step = 1;
  std::int64_t coordinate(std::int64_t rank) const { return (rank / stride) % period; }
  bool contains(std::int64_t rank) const { return coordinate(rank) % step == 0; }
  std::int64_t index(std::int64_t rank) const { return coordinate(rank) / step; }
  std::int64_t first(std::int64_t rank) const { return rank - coordinate(rank) * stride; }
  std::int64_t member(std::int64_t rank, std::int64_t i) const { return first(rank) + i * step * stride; }
  bool operator==(const Group&) const = default;
};

// Groups that every compiled schedule has, at these indices of Schedule::groups. Further ones follow where a plan needs
// them, in any order, and are found by name (find_group); a text schedule may add its own.
enum StandardGroup : std::uint8_t {
  kWorld = 0,
  kTensor = 1,
  kData = 2,
  kPipe = 3,
  kEmbedding = 4,  // first and last stage, where they share the tied embedding
};
inline constexpr std::uint8_t kNoGroup = 0xff;

// --- buffers ------------------------------------------------------------------------------------------------------

enum class BufferKind : std::uint8_t { weight, gradient, optimizer, activation, workspace, communication, token };
inline constexpr std::size_t kBufferKinds = 7;
std::string_view name(BufferKind kind);

// Which rows of a buffer are known only when routers have chosen: what a rank's experts receive of one microbatch; those
// rows of all members of "expert_tensor". `elements` is then the most that is reserved (Schedule::expert_rows).
enum class Extent : std::uint8_t { fixed, received, gathered };
inline constexpr std::size_t kExtents = 3;
std::string_view name(Extent extent);

// `instances` equal buffers of one type. A token has 0 elements: only its event is used.
struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::activation;
  DataType type = DataType::bf16;
  bool on_host = false;
  bool persistent = false;      // every instance lives from before the step to after it
  std::int64_t elements = 0;    // of one instance
  Extent extent = Extent::fixed;
  std::uint32_t instances = 1;
  Bytes bytes() const { return Bytes(bytes_of(type, elements)); }
  bool operator==(const Buffer&) const = default;
};

enum class Access : std::uint8_t { read, write, update };

// What an op touches: a rectangle of one formal's buffer, in elements. With shard_stride, the offset depends on the
// rank: offset + index of the rank in the op's shard_group * shard_stride (a ZeRO shard within a flat vector).
struct View {
  std::int64_t offset = 0;
  std::int64_t rows = 1, columns = 0;
  std::int64_t row_stride = 0;  // = columns where contiguous
  std::int64_t shard_stride = 0;
  std::uint16_t formal = 0;     // of the block
  Role role = Role::x;
  Access access = Access::read;
  bool allocates = false;       // the instance begins to live before this op is issued
  bool frees = false;           // and stops after it
  std::int64_t count() const { return rows * columns; }
  bool operator==(const View&) const = default;
};

// --- ops, blocks, calls -------------------------------------------------------------------------------------------

inline constexpr std::uint16_t kNoFormal = 0xffff;

struct Op {
  OpKind kind = OpKind::fill;
  Stream stream = Stream::compute;
  Phase phase = Phase::forward;
  std::uint8_t group = kNoGroup;  // communicator, or the group whose index selects shards of views
  std::uint8_t shards = kNoGroup;  // the group whose index selects them, where it is another one
  std::int16_t peer = 0;          // send, recv: index offset in the group, modulo its size
  bool grouped = false;           // issued together with the next op of its stream, as one (ncclGroupStart/End):
                                  // all ops of such a run start together, and the stream goes on when all ended
  std::uint8_t site = 0;          // random draws: which dropout of the layer; messages: which kind (tag)
  std::uint16_t record = kNoFormal;  // the event of this formal's instance is recorded after this op
  std::uint16_t view_count = 0;
  std::uint16_t wait_count = 0;
  std::uint32_t first_view = 0;
  std::uint32_t first_wait = 0;   // waits: formals whose event must have happened before this op starts
  std::uint32_t shape = 0;        // index into Schedule::shapes
  bool operator==(const Op&) const = default;
};

inline std::uint8_t shard_group(const Op& op) { return op.shards == kNoGroup ? op.group : op.shards; }

// instance = base + unit_stride * call.unit + ordinal_stride * that unit's ordinal + slot_stride * (microbatch % slots)
struct Formal {
  BufferId buffer;
  std::uint32_t base = 0, unit_stride = 0, slot_stride = 0, ordinal_stride = 0;
  bool operator==(const Formal&) const = default;
};

struct Block {
  std::string name;
  std::uint32_t first_op = 0, op_count = 0;
  std::uint32_t first_formal = 0, formal_count = 0;
  bool operator==(const Block&) const = default;
};

// Runs a block for one unit (an embedding, a layer or a head; its index in Program::units) and one microbatch:
// microbatch + iteration * microbatch_step inside a repeat.
struct Call {
  BlockId block;
  std::uint32_t unit = 0;
  std::uint32_t microbatch = 0;
  std::uint32_t microbatch_step = 0;
  bool operator==(const Call&) const = default;
};

// calls[first_call, first_call + call_count) run `count` times. Repeats do not nest or overlap; sorted.
struct Repeat {
  std::uint32_t first_call = 0, call_count = 0;
  std::uint32_t count = 1;
  bool operator==(const Repeat&) const = default;
};

// --- parameters ---------------------------------------------------------------------------------------------------

struct BufferRef {
  BufferId buffer;
  std::uint32_t instance = 0;
  bool operator==(const BufferRef&) const = default;
};

// One weight tensor inside a unit's flat parameter vector: the local (tensor-sharded) rectangle.
struct Slice {
  models::Parameter parameter;  // global shape, sharding, initial value
  std::int64_t expert = -1;     // of an expert: its number among those of the rank
  std::int64_t offset = 0;      // elements from the start of the flat vector
  std::int64_t rows = 0, columns = 1;  // local
  bool operator==(const Slice&) const = default;
};

// A layer with experts is two units: what every token passes through, and the rank's experts, whose parameters have
// other replicas.
enum class UnitKind : std::uint8_t { embedding, layer, head, expert_layer, experts };
inline constexpr std::size_t kUnitKinds = 5;
inline bool is_end(UnitKind kind) { return kind == UnitKind::embedding || kind == UnitKind::head; }
std::string_view name(UnitKind kind);

// A unit's parameters are one flat vector: [replicated vectors | sharded vectors | sharded matrices | replicated
// matrices | padding to a multiple of the data-parallel size]. Elements from `decay_from` on are decayed; those below
// `replicated_until` or from `replicated_from` on (to `used`) are equal on all tensor ranks.
struct Unit {
  UnitKind kind = UnitKind::layer;
  std::int64_t layer = 0;  // global layer index, for layers and their experts
  std::int32_t ordinal = 0;  // the how-manieth unit of its kind here
  std::vector<Slice> slices;
  std::int64_t used = 0;      // elements without padding
  std::int64_t elements = 0;  // with padding
  std::int64_t replicated_until = 0, replicated_from = 0, decay_from = 0;
  // Another rank of the pipeline owns these parameters: the head stage's copy of a tied embedding, or DualPipe's second
  // copy of a stage. Updated like the first, not counted in the gradient norm, not saved.
  bool tied_copy = false;
  // Between steps, each of the three is whole on every data-parallel rank (shards = 1), or the rank with index i in
  // `shard_group` has only elements [i, i + 1) * elements / shards of it: at that offset where the buffer has room for
  // all `elements`, at 0 where it has `elements / shards`. Where the shard group is smaller than the data-parallel
  // ranks (HSDP), the members of `replica_group` hold the same shard.
  std::int64_t weight_shards = 1;     // ZeRO-3: size of the shard group
  std::int64_t gradient_shards = 1;   // the reduced gradient, at the end of the step; ZeRO-1, 2, 3: the same
  std::int64_t optimizer_shards = 1;  // master weights and moments; ZeRO-1, 2, 3: the same
  std::uint8_t shard_group = kData, replica_group = kNoGroup;
  std::uint8_t cut_group = kTensor;      // over which slices are cut; experts: "expert_tensor", or none
  std::uint8_t expert_group = kNoGroup;  // whose members have other experts
  BufferRef weights, gradients;
  BufferRef master;                   // fp32 master weights where the recipe has them, else = weights
  bool operator==(const Unit&) const = default;
};

// --- programs -----------------------------------------------------------------------------------------------------

// Canonical layout: the ranges of consecutive blocks in ops and formals, and of consecutive ops in views and waits,
// follow one another without gaps or sharing (block_of and the text form rest on it; verify checks it).
struct Program {
  std::string name;
  std::uint32_t slots = 1;  // microbatches in flight, the modulus of slot indices
  std::vector<Block> blocks;
  std::vector<Op> ops;           // of all blocks
  std::vector<View> views;       // of all ops
  std::vector<std::uint16_t> waits;
  std::vector<Formal> formals;   // of all blocks
  std::vector<Buffer> buffers;
  std::vector<Unit> units;       // the layers in model order, then embedding and head where they are here, then the layers' experts
  std::vector<Call> calls;
  std::vector<Repeat> repeats;

  std::span<const Op> ops_of(const Block& b) const { return {ops.data() + b.first_op, b.op_count}; }
  std::span<const Formal> formals_of(const Block& b) const { return {formals.data() + b.first_formal, b.formal_count}; }
  std::span<const View> views_of(const Op& op) const { return {views.data() + op.first_view, op.view_count}; }
  std::span<const std::uint16_t> waits_of(const Op& op) const { return {waits.data() + op.first_wait, op.wait_count}; }
  const Block& block(const Call& c) const { return blocks[c.block.index()]; }
  const View* find(const Op& op, Role role) const;  // first view of that role, or null
  const Block& block_of(const Op& op) const;        // `op` must be an element of `ops`, not a copy
  const Buffer& buffer(const Block& block, const View& view) const;
  std::uint32_t instance(const Formal& f, const Call& c, std::uint32_t microbatch) const {
    const std::uint32_t ordinal = f.ordinal_stride == 0 ? 0 : f.ordinal_stride * static_cast<std::uint32_t>(units[c.unit].ordinal);
    return f.base + f.unit_stride * c.unit + ordinal + f.slot_stride * (microbatch % slots);
  }
  bool operator==(const Program&) const = default;
};

// Numbers that the optimizer and the data need; time does not depend on them.
struct Hyper {
  double learning_rate = 1e-4, weight_decay = 0.0, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double clip_gradient_norm = 0.0;  // 0: off
  std::int64_t seed = 1;
  bool operator==(const Hyper&) const = default;
};

// How many rows the experts of a rank receive of one microbatch: at most, and what the scenario's distribution gives the
// ranks of each index in the group "expert" (one number where all get the same). A simulation takes the drawn numbers, a
// run what the routers choose.
struct ExpertRows {
  std::int64_t reserved = 0;
  std::vector<std::int64_t> drawn;
  bool operator==(const ExpertRows&) const = default;
};

struct Schedule {
  std::string name;
  std::int64_t world = 1;
  std::vector<Group> groups;       // the standard ones first
  std::vector<Program> programs;   // program of rank r: index of r in `program_group`
  Group program_group;             // usually the pipe group
  std::vector<KernelShape> shapes;  // distinct; an op that needs none has KernelShape{}
  Hyper hyper;
  ExpertRows expert_rows;
  std::int64_t microbatches = 1;   // of a data-parallel rank
  models::Architecture model;      // what the units belong to (text schedules: empty)

  const Program& program_of(std::int64_t rank) const {
    return programs[static_cast<std::size_t>(program_group.index(rank))];
  }
  bool operator==(const Schedule&) const = default;
};

// What a group is for, in the order in which times and shares of transfers are reported.
enum class GroupKind : std::uint8_t { tensor, data, pipe, context, expert, other };
inline constexpr std::size_t kGroupKinds = 6;
// Of the standard groups by index, of further ones by name (the table is in ir.cpp); other names are `other`.
GroupKind kind_of_group(const Schedule& schedule, std::uint8_t group);

// Index of the first group of that name behind the standard ones, or kNoGroup.
std::uint8_t find_group(const Schedule& schedule, std::string_view name);
// An all_to_all of tokens in which each goes to a machine once, for all of its experts there: a matter of who carries it, not of
// what comes out.
bool is_by_node(const Schedule& schedule, const Op& op);

// Calls `visit(call, microbatch, iteration)` for every call in host issue order, repeats unrolled to at most
// `repeat_limit` iterations each.
template <typename Visit>
void for_each_call(const Program& p, std::uint32_t repeat_limit, Visit&& visit) {
  std::size_t next = 0, r = 0;
  const auto plain = [&](std::size_t until) {
    for (; next < until; ++next) visit(p.calls[next], p.calls[next].microbatch, 0U);
  };
  for (; r < p.repeats.size(); ++r) {
    const Repeat& repeat = p.repeats[r];
    plain(repeat.first_call);
    const std::uint32_t count = repeat.count < repeat_limit ? repeat.count : repeat_limit;
    for (std::uint32_t i = 0; i < count; ++i)
      for (std::size_t c = 0; c < repeat.call_count; ++c) {
        const Call& call = p.calls[repeat.first_call + c];
        visit(call, call.microbatch + i * call.microbatch_step, i);
      }
    next = std::size_t{repeat.first_call} + repeat.call_count;
  }
  plain(p.calls.size());
}

}  // namespace orrery::schedule
