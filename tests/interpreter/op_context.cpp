#include "tests/interpreter/op_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace orrery::interpreter {

using schedule::Access;
using schedule::kTensor;
using schedule::Role;

Job job_of(const schedule::Schedule& schedule) {
  Job job{.schedule = &schedule, .batch = {}, .vocab = schedule.model.vocab};
  job.batch.microbatches = schedule.microbatches;
  for (const schedule::KernelShape& shape : schedule.shapes) {
    job.batch.batch = std::max<std::int64_t>(job.batch.batch, shape.batch);
    job.batch.sequence = std::max<std::int64_t>(job.batch.sequence, shape.sequence);
  }
  for (const schedule::Program& p : schedule.programs)
    for (const schedule::Op& o : p.ops)
      if (o.kind == schedule::OpKind::input && o.view_count > 0)
        job.batch.sequence = p.views_of(o).front().count() / job.batch.batch;
  return job;
}

OpContext::OpContext(const Job& job, const RankIssue& issue, std::size_t op)
    : job_(job), issued_(issue.ops[op]), rank_(issue.rank) {
  for (const BoundView& bound : issued_.views) {
    if (bound.view->count() == 0) continue;
    const std::int64_t stride = bound.view->rows == 1 ? bound.view->columns : bound.view->row_stride;
    const TensorView view{bound.allocation->touch() + bound.offset, bound.view->rows, bound.view->columns, stride};
    views_.push_back({bound.view->role, bound.view->access, view, bound.extent});
  }
  cut_extents();
  std::size_t next = 0;
  for (const BoundView& bound : issued_.views)
    if (bound.view->count() > 0) {
      const Resolved& r = views_[next++];
      if (r.access != Access::write) check_written(r, bound.allocation->label());
    }
}

void OpContext::cut_extents() {
  if (!has(Role::counts) || op().kind == schedule::OpKind::route_forward) {
    for (const Resolved& r : views_)
      if (r.extent != schedule::Extent::fixed) throw ScheduleError("an extent is touched without counts");
    return;
  }
  const CountTable table = count_table();
  for (Resolved& r : views_) {
    if (r.extent == schedule::Extent::fixed) continue;
    const std::int64_t rows =
        r.extent == schedule::Extent::gathered ? table.gathered() : table.received(table.tensor_index);
    if (rows > r.view.rows) throw ScheduleError(fmt::format("{} rows where {} are reserved", rows, r.view.rows));
    r.view.rows = rows;
  }
}

CountTable OpContext::count_table() const {
  const std::uint8_t expert = schedule::find_group(schedule(), "expert");
  const std::uint8_t tensor = schedule::find_group(schedule(), "expert_tensor");
  const std::vector<schedule::Group>& groups = schedule().groups;
  CountTable table;
  table.counts = need(Role::counts).view;
  if (expert != schedule::kNoGroup) table.ep = groups[expert].size;
  if (tensor != schedule::kNoGroup) table.etp = groups[tensor].size;
  table.index = index_in(expert);
  table.tensor_index = index_in(tensor);
  if (table.counts.rows != table.senders() || table.counts.columns % table.ep != 0)
    throw ScheduleError(fmt::format("counts of {} x {} for {} senders", table.counts.rows, table.counts.columns,
                                    table.senders()));
  for (std::int64_t i = 0; i < table.counts.count(); ++i)
    if (std::isnan(table.counts[i])) throw ScheduleError("counts are read before they are written");
  return table;
}

bool OpContext::is_extent(Role role) const { return need(role).extent != schedule::Extent::fixed; }

// The statistics of the loss are filled column by column by different ops, so a view of all four may have holes.
void OpContext::check_written(const Resolved& r, const std::string& label) const {
  if (r.role == Role::stats) return;
  // Of rows that are sent, those of choices without room are not there.
  if (has(Role::counts) && r.extent == schedule::Extent::fixed && r.role == Role::x) return;
  for (std::int64_t i = 0; i < r.view.count(); ++i)
    if (std::isnan(r.view[i]))
      throw ScheduleError(fmt::format("{} is read as {} at element {} of the view before it is written (or holds NaN)",
                                      label, schedule::name(r.role), i));
}

const OpContext::Resolved* OpContext::find(Role role) const {
  for (const Resolved& r : views_)
    if (r.role == role) return &r;
  return nullptr;
}

const OpContext::Resolved& OpContext::need(Role role) const {
  const Resolved* const r = find(role);
  if (r == nullptr) throw ScheduleError(fmt::format("the op has no view of role {}", schedule::name(role)));
  return *r;
}

bool OpContext::has(Role role) const { return find(role) != nullptr; }

ConstView OpContext::in(Role role) const {
  const Resolved& r = need(role);
  if (r.access == Access::write)
    throw ScheduleError(fmt::format("{} is declared as written only, and is read", schedule::name(role)));
  return r.view;
}

OptionalInput OpContext::maybe_in(Role role) const {
  if (!has(role)) return std::nullopt;
  return in(role);
}

Output OpContext::out(Role role) const {
  const Resolved& r = need(role);
  if (r.access == Access::read)
    throw ScheduleError(fmt::format("{} is declared as read only, and is written", schedule::name(role)));
  return {r.view, r.access == Access::update};
}

OptionalOutput OpContext::maybe_out(Role role) const {
  if (!has(role)) return std::nullopt;
  return out(role);
}

TensorView OpContext::in_place(Role role) const {
  const Resolved& r = need(role);
  if (r.access != Access::update)
    throw ScheduleError(fmt::format("{} is transformed in place, and not declared so", schedule::name(role)));
  return r.view;
}

std::vector<ConstView> OpContext::inputs(Role role) const {
  std::vector<ConstView> found;
  for (const Resolved& r : views_)
    if (r.role == role) found.emplace_back(r.view);
  return found;
}

std::vector<Output> OpContext::outputs(Role role) const {
  std::vector<Output> found;
  for (const Resolved& r : views_)
    if (r.role == role && r.access != Access::read) found.push_back({r.view, r.access == Access::update});
  return found;
}

std::vector<Output> OpContext::all_outputs() const {
  std::vector<Output> found;
  for (const Resolved& r : views_)
    if (r.access != Access::read) found.push_back({r.view, r.access == Access::update});
  return found;
}

std::int64_t OpContext::index_in(std::uint8_t group) const {
  const std::vector<schedule::Group>& groups = job_.schedule->groups;
  return group < groups.size() ? groups[group].index(rank_) : 0;
}

std::int64_t OpContext::shard_index() const {
  if (op().group == schedule::kNoGroup) return index_in(kTensor);
  return job_.schedule->groups[op().group].index(rank_);
}

std::int64_t OpContext::shard_count() const {
  const std::vector<schedule::Group>& groups = job_.schedule->groups;
  if (op().group != schedule::kNoGroup) return groups[op().group].size;
  return kTensor < groups.size() ? groups[kTensor].size : 1;
}

std::int64_t OpContext::layer() const {
  if (issued_.unit == nullptr) return 0;
  switch (issued_.unit->kind) {
    case schedule::UnitKind::embedding: return kEmbeddingLayer;
    case schedule::UnitKind::layer:
    case schedule::UnitKind::expert_layer:
    case schedule::UnitKind::experts: return issued_.unit->layer;
    case schedule::UnitKind::head: return kHeadLayer;
  }
  return 0;
}

std::int64_t OpContext::first_sequence() const {
  return job_.batch.first_sequence(index_in(schedule::kData), issued_.microbatch);
}

std::vector<std::int64_t> OpContext::rows_of_microbatch(std::int64_t rows) const {
  const std::int64_t batch = job_.batch.batch, here = batch * job_.batch.sequence;
  if (rows * (shape().sequence_sharded ? shard_count() : 1) != here)
    throw ScheduleError(
        fmt::format("{} rows are neither the microbatch's {} nor marked as a sequence shard", rows, here));
  std::vector<std::int64_t> all(static_cast<std::size_t>(here));
  for (const schedule::PositionRun& run : schedule::positions_of(context(), job_.batch.sequence))
    for (std::int64_t r = 0; r < run.count * batch; ++r)
      all[static_cast<std::size_t>(run.row * batch + r)] = run.position * batch + r;
  if (!shape().sequence_sharded) return all;
  // A rank's rows are its part of each of n chunks.
  const std::int64_t n = std::max<std::int64_t>(shape().n, 1), strip = rows / n;
  std::vector<std::int64_t> mine;
  for (std::int64_t r = 0; r < rows; ++r)
    mine.push_back(all[static_cast<std::size_t>(r / strip * (here / n) + shard_index() * strip + r % strip)]);
  return mine;
}

Dropout OpContext::dropout(std::int64_t rows, std::int64_t columns) const {
  Dropout d;
  d.probability = shape().dropout;
  if (d.probability <= 0.0) return d;
  d.key = {schedule().hyper.seed, issued_.step, layer(), op().site};
  d.first_sequence = first_sequence();
  d.batch = job_.batch.batch;
  d.columns = columns;
  if (rows > 0) d.rows = rows_of_microbatch(rows);
  return d;
}

}  // namespace orrery::interpreter
