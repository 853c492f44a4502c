// Writes one block of a program: formals, ops, views. It adds what is mechanical, so that the files that
// write layers read like the algebra: where a buffer begins and stops to live, and the events between the
// block's streams.
//
//     BlockBuilder b(schedule, program, "layer.forward", Phase::forward);
//     Tensor x = b.tensor(buffers.hidden, {.slot_stride = 1}, Life::bound, rows, h);
//     b.add(OpKind::gemm, {in(Role::x, x), in(Role::w, w), out(Role::y, y)}, shape);
//     BlockId id = b.finish();
#pragma once

#include <string>
#include <vector>

#include "schedule/ir.h"

namespace orrery::schedule {

// Does the buffer's instance live before the block, and does it live on after it?
enum class Life : std::uint8_t {
  bound,  // before and after
  born,   // allocated by the first op that touches it
  dies,   // freed by the last
  local,  // both
};

// A rectangle of a formal's buffer.
struct Tensor {
  std::uint16_t formal = kNoFormal;
  std::int64_t offset = 0;
  std::int64_t rows = 0, columns = 0, row_stride = 0;
  std::int64_t shard_stride = 0;
  bool exists() const { return formal != kNoFormal; }
  std::int64_t count() const { return rows * columns; }
};
Tensor columns_of(Tensor t, std::int64_t from, std::int64_t columns);
Tensor rows_of(Tensor t, std::int64_t from, std::int64_t rows);
Tensor reshaped(Tensor t, std::int64_t rows, std::int64_t columns);  // contiguous tensors only
// The i-th of n equal flat parts, i being the rank's index in the op's group.
Tensor own_shard(Tensor t, std::int64_t n);

struct Operand {
  Role role;
  Tensor tensor;
  Access access;
};
inline Operand in(Role role, Tensor t) { return {role, t, Access::read}; }
inline Operand out(Role role, Tensor t) { return {role, t, Access::write}; }
inline Operand accumulate(Role role, Tensor t) { return {role, t, Access::update}; }

struct Index {
  std::uint32_t base = 0, unit_stride = 0, slot_stride = 0, ordinal_stride = 0;
};

class BlockBuilder {
 public:
  BlockBuilder(Schedule& schedule, Program& program, std::string name, Phase phase);

  Tensor tensor(BufferId buffer, Index index, Life life, std::int64_t rows, std::int64_t columns);
  std::uint16_t token(BufferId buffer, Index index);  // a formal of which only the event is used

  // Appends an op; operands whose tensor does not exist are left out. The setters below then refer to it.
  BlockBuilder& add(OpKind kind, const std::vector<Operand>& operands, const KernelShape& shape = {});
  BlockBuilder& on(Stream stream);
  BlockBuilder& group(std::uint8_t group);
  BlockBuilder& shards(std::uint8_t group);
  BlockBuilder& site(int site);
  BlockBuilder& peer(int offset);
  BlockBuilder& grouped();
  BlockBuilder& wait(std::uint16_t formal);
  BlockBuilder& record(std::uint16_t formal);
  BlockBuilder&
  behind_compute();  // also waits for the compute op before it: launched by the host at that point

  // An instance that dies with the block although no op of it touches it: freed by the last compute op.
  void release(BufferId buffer, Index index);

  // The block as a whole: its first op waits for the event; its last compute op records it.
  void set_phase(Phase phase) { phase_ = phase; }  // of the ops added from here on
  void begin_after(std::uint16_t formal) { begins_after_.push_back(formal); }
  void end_records(std::uint16_t formal) { end_records_ = formal; }

  bool empty() const { return ops_.empty(); }
  bool has_compute() const;  // so far, an op on the compute stream
  // Where another block's ops may come in between: behind the last op. The block is then several blocks, called in a row.
  void cut() { cuts_.push_back(ops_.size()); }
  std::vector<BlockId> finish_parts();

  // For passes over the ops before the block is finished.
  struct Draft {
    Op op;
    std::vector<View> views;
    std::vector<std::uint16_t> waits;
    bool behind_compute = false;
  };
  std::vector<Draft>& drafts() { return ops_; }
  std::vector<std::size_t>& cuts() { return cuts_; }
  const Formal& formal_of(std::uint16_t formal) const { return formals_[formal]; }
  Life life_of(std::uint16_t formal) const { return lives_[formal]; }
  void set_life(std::uint16_t formal, Life life) { lives_[formal] = life; }

  BlockId finish();  // moves the block into the program

 private:
  std::uint16_t formal(BufferId buffer, Index index, Life life);
  void set_block_events();
  void order_streams();  // events between the block's own streams
  void set_lifetimes();  // allocates / frees
  void add_releases();
  void depend(std::size_t later, std::size_t earlier);
  BlockId emit(std::size_t from, std::size_t until);
  std::size_t release_point(std::size_t last_user) const;

  Schedule& schedule_;
  Program& program_;
  std::string name_;
  Phase phase_;
  std::vector<Formal> formals_;
  std::vector<Life> lives_;
  std::vector<Draft> ops_;
  std::vector<std::uint16_t> begins_after_;
  std::uint16_t end_records_ = kNoFormal;
  std::vector<std::uint16_t> released_;
  std::vector<std::size_t> cuts_;
  std::vector<std::vector<std::size_t>> awaited_;  // [later stream][earlier stream]: 1 + last op waited for
};

}  // namespace orrery::schedule
