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
  exchange(members);
}

}  // namespace orrery::interpreter
