#include "tests/runtime/state/reshard_check.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "runtime/state/initialise.h"
#include "runtime/state/stored_elements.h"

namespace orrery::runtime {
namespace {

bool has_kind(const Job& job, StateKind kind) {
  return std::any_of(job.layouts[0].runs.begin(), job.layouts[0].runs.end(),
                     [&](const StateRun& run) { return run.kind == kind; });
}

// How `job` stores what becomes a run of that kind: parameters as master weights where it has them.
Element stored_as(const Job& job, StateKind kind) {
  if (kind == StateKind::weight || kind == StateKind::master)
    kind = has_kind(job, StateKind::master) ? StateKind::master : StateKind::weight;
  for (const StateRun& run : job.layouts[0].runs)
    if (run.kind == kind) return job.memories[0].element(run.buffer.buffer);
  return Element::fp32;
}

std::int64_t stored_rows(const Job& job, const std::string& tensor) {
  for (const StateLayout& layout : job.layouts)
    for (const StateTensor& t : layout.tensors)
      if (t.name == tensor) return t.rows;
  return 0;
}

std::string value_difference(const Job& from, Job& to, Job& fresh) {
  for (std::size_t rank = 0; rank < to.layouts.size(); ++rank)
    for (const StateRun& run : to.layouts[rank].runs) {
      if (run.kind == StateKind::gradient || run.kind == StateKind::residual) continue;
      const std::string& tensor = to.layouts[rank].tensors[run.tensor].name;
      const std::int64_t rows = stored_rows(from, tensor);
      const Element stored = stored_as(from, run.kind), own = to.memories[rank].element(run.buffer.buffer);
      for (std::int64_t i = 0; i < run.count(); ++i) {
        const std::int64_t row = run.row + i / run.columns, column = run.column + i % run.columns;
        const double expected = row >= rows
                                    ? fresh.memories[rank].value(run, i)
                                    : rounded(rounded(trained_value(tensor, run.kind, row, column), stored), own);
        if (to.memories[rank].value(run, i) != expected)
          return fmt::format("rank {}: {} ({}) at [{}, {}] is {}, expected {}", rank, tensor, name(run.kind), row,
                             column, to.memories[rank].value(run, i), expected);
      }
    }
  return {};
}

std::string padding_difference(Job& job) {
  for (std::size_t rank = 0; rank < job.layouts.size(); ++rank) {
    auto left = job.memories[rank].all();
    for (const StateRun& run : job.layouts[rank].runs) {
      if (run.kind == StateKind::gradient) continue;
      const std::int64_t size = stored_bytes(job.memories[rank].element(run.buffer.buffer));
      std::memset(left.at({run.buffer.buffer.index(), run.buffer.instance}).data() + run.offset * size, 0,
                  static_cast<std::size_t>(run.count() * size));
    }
    for (const StateBuffer& buffer : job.layouts[rank].buffers)
      for (const std::byte byte : left.at({buffer.ref.buffer.index(), buffer.ref.instance}))
        if (byte != std::byte{0}) return fmt::format("rank {}, buffer {}", rank, buffer.ref.buffer.index());
  }
  return {};
}

}  // namespace

std::string reshard_difference(const Job& from, Job& to, Job& fresh) {
  const std::string values = value_difference(from, to, fresh), padding = padding_difference(to);
  return padding.empty() ? values : values + ", padding of " + padding;
}

void expect_reshards(const models::Architecture& a, std::size_t from, std::size_t stride) {
  const std::vector<Plan> plans = state_plans(a);
  if (from >= plans.size()) return;
  const CheckpointDirectory directory;
  Job saved(compile_plan(a, plans[from]));
  put_trained_state(saved);
  save_job(saved, directory.path(), 12, {.piece_bytes = 1000});
  for (std::size_t other = from % stride; other < plans.size(); other += stride) {
    SCOPED_TRACE(a.name + ", from " + plans[from].name + " to " + plans[other].name);
    Job loaded(compile_plan(a, plans[other])), fresh(compile_plan(a, plans[other]));
    for (std::size_t rank = 0; rank < fresh.layouts.size(); ++rank)
      initialise(fresh.schedule, fresh.layouts[rank], fresh.memories[rank]);
    EXPECT_EQ(load_job(loaded, directory.path()).progress, progress_at(12));
    EXPECT_EQ(reshard_difference(saved, loaded, fresh), "");
  }
}

}  // namespace orrery::runtime
