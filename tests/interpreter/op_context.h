// One issued op at the moment it runs: its views as rectangles of doubles, found by role, with the access that the
// schedule claims enforced (a kernel cannot read what is only written, or write what is only read), and a check that
// nothing read was never written. Also what a rank knows of itself: its place in the groups, its unit, its batch.
#pragma once

#include <vector>

#include "schedule/ir.h"
#include "schedule/positions.h"
#include "tests/interpreter/data.h"
#include "tests/interpreter/dropout.h"
#include "tests/interpreter/issue.h"
#include "tests/interpreter/kernels_experts.h"
#include "tests/interpreter/tensor_view.h"

namespace orrery::interpreter {

// What is the same for all ops of a run.
struct Job {
  const schedule::Schedule* schedule = nullptr;
  BatchShape batch;
  std::int64_t vocab = 0;
};
// The batch is that of the schedule's kernel shapes; the sequence, of which it may be a rank's part, that of its input, or
// else of the shapes.
Job job_of(const schedule::Schedule& schedule);

class OpContext {
 public:
  OpContext(const Job& job, const RankIssue& issue, std::size_t op);

  const schedule::Op& op() const { return *issued_.op; }
  const schedule::KernelShape& shape() const { return job_.schedule->shapes[op().shape]; }
  const schedule::Schedule& schedule() const { return *job_.schedule; }
  const IssuedOp& issued() const { return issued_; }
  const Job& job() const { return job_; }
  std::int64_t rank() const { return rank_; }

  bool has(schedule::Role role) const;
  ConstView in(schedule::Role role) const;
  OptionalInput maybe_in(schedule::Role role) const;
  Output out(schedule::Role role) const;
  OptionalOutput maybe_out(schedule::Role role) const;
  TensorView in_place(schedule::Role role) const;  // read and written
  // All views of a role, in order.
  std::vector<ConstView> inputs(schedule::Role role) const;
  std::vector<Output> outputs(schedule::Role role) const;
  std::vector<Output> all_outputs() const;

  // Index in the op's group; in the standard group where the op names none; 0 where the schedule has no groups.
  std::int64_t index_in(std::uint8_t group) const;
  std::int64_t shard_index() const;  // of the op's group, or of the tensor group
  std::int64_t shard_count() const;
  CountTable count_table() const;       // of an op with counts
  bool is_extent(schedule::Role role) const;
  std::int64_t layer() const;           // key of random draws
  std::int64_t first_sequence() const;  // global, of this microbatch
  // Of a hidden state with `rows` rows here: each one's row in the whole microbatch.
  std::vector<std::int64_t> rows_of_microbatch(std::int64_t rows) const;
  schedule::ContextPlace context() const { return schedule::context_place(schedule(), rank_); }
  Dropout dropout(std::int64_t rows, std::int64_t columns) const;

 private:
  struct Resolved {
    schedule::Role role;
    schedule::Access access;
    TensorView view;
    schedule::Extent extent = schedule::Extent::fixed;
  };
  void cut_extents();  // to the rows that there are
  const Resolved* find(schedule::Role role) const;
  const Resolved& need(schedule::Role role) const;
  void check_written(const Resolved& r, const std::string& label) const;

  const Job& job_;
  const IssuedOp& issued_;
  std::int64_t rank_;
  std::vector<Resolved> views_;
};

}  // namespace orrery::interpreter
