#include "tests/interpreter/communication.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery::interpreter {
namespace {

using schedule::OpKind;
using schedule::Role;

using Values = std::vector<double>;

Values values_of(const ConstView& view) {
  Values values;
  for (std::int64_t i = 0; i < view.count(); ++i) values.push_back(view[i]);
  return values;
}

void put(const Output& out, const Values& values) {
  if (out.view.count() != static_cast<std::int64_t>(values.size()))
    throw ScheduleError(fmt::format("{} elements meet a view of {}", values.size(), out.view.count()));
  for (std::size_t i = 0; i < values.size(); ++i) out.put(static_cast<std::int64_t>(i), values[i]);
}

Values combined(const std::vector<Values>& parts, schedule::Reduce reduce) {
  Values total = parts.front();
  for (std::size_t m = 1; m < parts.size(); ++m) {
    if (parts[m].size() != total.size())
      throw ScheduleError(fmt::format("members bring {} and {} elements", total.size(), parts[m].size()));
    for (std::size_t i = 0; i < total.size(); ++i)
      total[i] = reduce == schedule::Reduce::sum ? total[i] + parts[m][i] : std::max(total[i], parts[m][i]);
  }
  return total;
}

Values concatenated(const std::vector<Values>& parts) {
  Values all;
  for (const Values& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// Part i of n equal ones.
Values chunk(const Values& all, std::size_t i, std::size_t n) {
  if (all.size() % n != 0) throw ScheduleError(fmt::format("{} elements do not split {} ways", all.size(), n));
  const auto size = static_cast<std::ptrdiff_t>(all.size() / n);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(i) * size;
  return {first, first + size};
}

std::size_t count_of(const std::vector<OpContext>& members, Role role) {
  const std::size_t n = members.front().inputs(role).size();
  for (const OpContext& m : members)
    if (m.inputs(role).size() != n || n == 0)
      throw ScheduleError(fmt::format("members bring {} and {} views", n, m.inputs(role).size()));
  return n;
}

// The v-th view of that role of every member, read before anything is written.
std::vector<Values> gather(const std::vector<OpContext>& members, Role role, std::size_t v) {
  std::vector<Values> parts;
  for (const OpContext& m : members) parts.push_back(values_of(m.inputs(role)[v]));
  return parts;
}

void all_reduce(const std::vector<OpContext>& members) {
  for (std::size_t v = 0; v < count_of(members, Role::y); ++v) {
    const Values total = combined(gather(members, Role::y, v), members.front().shape().reduce);
    for (const OpContext& m : members) {
      if (m.outputs(Role::y).size() <= v || !m.outputs(Role::y)[v].accumulates)
        throw ScheduleError("an all_reduce updates y, which is not declared so");
      put({m.outputs(Role::y)[v].view, false}, total);
    }
  }
}

void broadcast(const std::vector<OpContext>& members) {
  for (std::size_t v = 0; v < count_of(members, Role::y); ++v) {
    const Values root = values_of(members.front().inputs(Role::y)[v]);
    for (std::size_t i = 1; i < members.size(); ++i) put({members[i].outputs(Role::y)[v].view, false}, root);
  }
}

// Rows [first, first + count) of a view, of whole rows.
Values rows_of(const ConstView& view, std::int64_t first, std::int64_t count) {
  Values values;
  for (std::int64_t r = first; r < first + count; ++r)
    for (std::int64_t c = 0; c < view.columns; ++c) values.push_back(view.at(r, c));
  return values;
}

void put_first(const Output& out, const Values& values) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (count > out.view.count()) throw ScheduleError(fmt::format("{} elements come to {}", count, out.view.count()));
  for (std::int64_t i = 0; i < count; ++i) out.put(i, values[static_cast<std::size_t>(i)]);
}

// To the ranks of experts (y is what they receive), or back.
void exchange_counted(const std::vector<OpContext>& members) {
  const CountTable table = members.front().count_table();
  const auto n = static_cast<std::int64_t>(members.size());
  const bool back = members.front().is_extent(Role::x);
  const auto rows = [&](std::int64_t sender, std::int64_t receiver) {
    return back ? table.rows_between(table.tensor_index, receiver, sender)
                : table.rows_between(table.tensor_index, sender, receiver);
  };
  std::vector<Values> results;
  for (std::int64_t to = 0; to < n; ++to) {
    Values mine;
    for (std::int64_t from = 0; from < n; ++from) {
      std::int64_t first = 0;
      for (std::int64_t other = 0; other < to; ++other) first += rows(from, other);
      const Values part = rows_of(members[static_cast<std::size_t>(from)].in(Role::x), first, rows(from, to));
      mine.insert(mine.end(), part.begin(), part.end());
    }
    results.push_back(std::move(mine));
  }
  for (std::size_t to = 0; to < members.size(); ++to) put_first(members[to].out(Role::y), results[to]);
}

// Over the ranks that hold parts of the same experts: all rows to all, or sums of them back.
void gather_counted(const std::vector<OpContext>& members) {
  std::vector<Values> x;
  for (const OpContext& m : members) x.push_back(values_of(m.in(Role::x)));
  if (members.front().op().kind == OpKind::all_gather) {
    for (const OpContext& m : members) put(m.out(Role::y), concatenated(x));
    return;
  }
  const Values total = combined(x, schedule::Reduce::sum);
  std::ptrdiff_t first = 0;
  for (const OpContext& m : members) {
    const Output y = m.out(Role::y);
    const std::int64_t rows = m.count_table().received(m.count_table().tensor_index);
    const auto count = static_cast<std::ptrdiff_t>(rows * y.view.columns);
    put_first(y, Values(total.begin() + first, total.begin() + first + count));
    first += count;
  }
}

void exchange(const std::vector<OpContext>& members) {
  const std::size_t n = members.size(), pairs = count_of(members, Role::x);
  for (const OpContext& m : members)
    if (m.outputs(Role::y).size() != pairs) throw ScheduleError("x and y do not come in pairs");
  for (std::size_t v = 0; v < pairs; ++v) {
    const std::vector<Values> x = gather(members, Role::x, v);
    for (std::size_t i = 0; i < n; ++i) {
      const Output y = members[i].outputs(Role::y)[v];
      if (members[i].op().kind == OpKind::all_gather) {
        put(y, concatenated(x));
        continue;
      }
      std::vector<Values> mine;
      for (const Values& part : x) mine.push_back(chunk(part, i, n));
      put(y, members[i].op().kind == OpKind::all_to_all ? concatenated(mine)
                                                         : combined(mine, members[i].shape().reduce));
    }
  }
}

void deliver(const OpContext& sender, const OpContext& receiver) {
  const auto x = sender.inputs(Role::x);
  const auto y = receiver.outputs(Role::y);
  if (x.size() != y.size() || x.empty())
    throw ScheduleError(fmt::format("{} views are sent and {} received", x.size(), y.size()));
  if (sender.issued().microbatch != receiver.issued().microbatch)
    throw ScheduleError(fmt::format("the sender is at microbatch {}, the receiver at {}", sender.issued().microbatch,
                                    receiver.issued().microbatch));
  for (std::size_t v = 0; v < x.size(); ++v) put(y[v], values_of(x[v]));
}

}  // namespace

void communicate(const std::vector<OpContext>& members) {
  const OpKind kind = members.front().op().kind;
  if (kind == OpKind::send) return deliver(members[0], members[1]);
  for (const OpContext& m : members)
    if (m.op().kind != kind || !(m.shape() == members.front().shape()))
      throw ScheduleError("members do not perform the same collective");
  if (kind == OpKind::all_reduce) return all_reduce(members);
  if (kind == OpKind::broadcast) return broadcast(members);
  if (members.front().has(Role::counts))
    return kind == OpKind::all_to_all ? exchange_counted(members) : gather_counted(members);
  exchange(members);
}

}  // namespace orrery::interpreter
