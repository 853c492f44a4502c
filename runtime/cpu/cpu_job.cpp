#include "runtime/cpu/cpu_job.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"

namespace orrery::runtime {

CpuJob cpu_job(const schedule::Schedule& schedule, const TokenSource& tokens, bool in_double) {
  CpuJob job{.schedule = &schedule, .tokens = &tokens, .in_double = in_double};
  for (const schedule::KernelShape& shape : schedule.shapes) {
    job.batch = std::max<std::int64_t>(job.batch, shape.batch);
    job.sequence = std::max<std::int64_t>(job.sequence, shape.sequence);
  }
  for (const schedule::Program& program : schedule.programs)
    for (const schedule::Op& op : program.ops)
      if (op.kind == schedule::OpKind::input && op.view_count > 0)
        job.sequence = program.views_of(op).front().count() / job.batch;
  for (const schedule::Program& program : schedule.programs)
    for (const schedule::Buffer& buffer : program.buffers)
      job.scales_loss = job.scales_loss || (buffer.kind == schedule::BufferKind::activation &&
                                            buffer.type == schedule::DataType::fp16 && !in_double);
  return job;
}

std::int64_t Placement::index_in(std::uint8_t group) const {
  const auto& groups = job_.schedule->groups;
  return group < groups.size() ? groups[group].index(call_.plan->rank) : 0;
}

std::int64_t Placement::shard_index() const {
  const std::uint8_t group = call_.op().op->group;
  return index_in(group == schedule::kNoGroup ? std::uint8_t{schedule::kTensor} : group);
}

std::int64_t Placement::shard_count() const {
  const std::uint8_t named = call_.op().op->group;
  const std::uint8_t group = named == schedule::kNoGroup ? std::uint8_t{schedule::kTensor} : named;
  return group < job_.schedule->groups.size() ? job_.schedule->groups[group].size : 1;
}

std::int64_t Placement::layer() const {
  const schedule::Unit* const unit = call_.op().unit;
  if (unit == nullptr) return 0;
  switch (unit->kind) {
    case schedule::UnitKind::embedding: return -1;
    case schedule::UnitKind::layer:
    case schedule::UnitKind::expert_layer:
    case schedule::UnitKind::experts: return unit->layer;
    case schedule::UnitKind::head: return -2;
  }
  return 0;
}

// A data-parallel rank owns a contiguous run of the batch.
std::int64_t Placement::first_sequence() const {
  return (index_in(schedule::kData) * job_.schedule->microbatches + call_.op().microbatch) * job_.batch;
}

std::vector<Placement::RowRun> Placement::row_runs(std::int64_t rows) const {
  const bool sharded = call_.shape().sequence_sharded;
  CHECK(rows * (sharded ? shard_count() : 1) == job_.batch * job_.sequence,
        "neither a microbatch's rows nor marked as a shard of them", rows);
  // A tensor rank has its part of each of n chunks.
  const std::int64_t n = sharded ? std::max<std::int64_t>(call_.shape().n, 1) : 1;
  const std::int64_t strip = rows / n, chunk = job_.batch * job_.sequence / n;
  const std::vector<schedule::PositionRun> positions = schedule::positions_of(context(), job_.sequence);
  std::vector<RowRun> runs;
  for (std::int64_t c = 0; c < n; ++c) {
    const std::int64_t first = c * chunk + (sharded ? shard_index() * strip : 0);
    for (const schedule::PositionRun& run : positions) {
      const std::int64_t begin = std::max(first, run.row * job_.batch),
                         end = std::min(first + strip, (run.row + run.count) * job_.batch);
      if (begin < end)
        runs.push_back({c * strip + begin - first, end - begin, run.position * job_.batch + begin - run.row * job_.batch});
    }
  }
  return runs;
}

const std::uint64_t* Placement::dropout_keys() const {
  constexpr std::int64_t kSites = 256;
  thread_local std::vector<std::uint64_t> keys;
  keys.resize(static_cast<std::size_t>(job_.batch));
  for (std::int64_t j = 0; j < job_.batch; ++j)
    keys[static_cast<std::size_t>(j)] =
        RandomStream({.seed = static_cast<std::uint64_t>(job_.schedule->hyper.seed),
                      .purpose = DrawPurpose::dropout,
                      .step = static_cast<std::uint64_t>(call_.step),
                      .layer = static_cast<std::uint64_t>(layer() * kSites + call_.op().op->site),
                      .microbatch = static_cast<std::uint64_t>(first_sequence() + j)})
            .bits(0);
  return keys.data();
}

}  // namespace orrery::runtime
