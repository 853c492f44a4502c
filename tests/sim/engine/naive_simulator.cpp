// See naive_simulator.h.
#include "tests/sim/engine/naive_simulator.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "schedule/kernel_work.h"
#include "sim/engine/sharing.h"

namespace orrery::sim::test {
namespace {

using schedule::Op;
using schedule::OpKind;
using schedule::Program;
using schedule::Stream;

constexpr std::int64_t kFull = engine::kFullRate;

struct Item {
  std::int64_t rank = 0;
  int step = 0;
  std::uint32_t host = 0;
  const Op* op = nullptr;
  std::vector<std::size_t> after;  // items of this rank that must have ended
  std::size_t previous = 0, run_first = 0,
              run_last = 0;     // in the stream, 1 + index of the item before; own run
  std::size_t gate = 0;         // 1 + the last host_wait before it
  std::int64_t since_gate = 0;  // ops issued from there to here, this one included
  std::int64_t work = 0;
  std::vector<std::size_t> partners;
  TransferPlan plan;
  bool posted = false, started = false, ended = false;
  std::int64_t start = 0, end = 0, left = 0, since = 0, rate = kFull;
};

bool bound(OpKind k) {
  return k == OpKind::gemm || (k >= OpKind::attention_forward && k <= OpKind::attention_dkey &&
                               k != OpKind::softmax_forward && k != OpKind::softmax_backward);
}

class Naive {
 public:
  Naive(const schedule::Schedule& s, const hardware::Cluster& c, const KernelCost& cost,
        const NetworkModel& network, int steps, bool share)
      : s_(s), c_(c), cost_(cost), network_(network), steps_(steps), share_(share) {
    for (std::int64_t r = 0; r < s.world; ++r) list_rank(r);
    match();
  }

  std::vector<NaiveOp> run() {
    while (true) {
      while (apply()) {
      }
      if (last_step_over()) break;
      rescale();
      std::int64_t next = std::numeric_limits<std::int64_t>::max();
      for (const Item& i : items_) {
        if (i.started && !i.ended) next = std::min(next, i.end);
        if (!i.posted && issue_time(i) > now_) next = std::min(next, issue_time(i));
      }
      if (next == std::numeric_limits<std::int64_t>::max()) break;  // deadlock
      now_ = next;
    }
    std::vector<NaiveOp> done;
    for (const Item& i : items_)
      if (i.ended) done.push_back({i.rank, i.step, i.host, i.start, i.end});
    return done;
  }

 private:
  void list_rank(std::int64_t rank) {
    const Program& p = s_.program_of(rank);
    const std::size_t first = items_.size();
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t> recorded;
    std::map<Stream, std::size_t> last_of;
    std::size_t gate = 0;
    std::int64_t since_gate = 0;
    double speed = 1.0;
    for (const auto& [slow, of_slow] : c_.slow_gpus)
      if (slow == rank) speed = of_slow;
    for (int step = 0; step <= steps_; ++step) {
      std::uint32_t host = 0;
      schedule::for_each_call(p, 1'000'000, [&](const schedule::Call& call, std::uint32_t mb, std::uint32_t) {
        for (const Op& op : p.ops_of(p.block(call))) {
          Item i;
          i.rank = rank, i.step = step, i.host = host++, i.op = &op;
          const auto event = [&](std::uint16_t formal) {
            const schedule::Formal& f = p.formals_of(p.block(call))[formal];
            return std::pair{f.buffer.value, p.instance(f, call, mb)};
          };
          for (const std::uint16_t w : p.waits_of(op))
            if (recorded.count(event(w)) > 0) i.after.push_back(recorded[event(w)]);
          i.previous = last_of[op.stream];
          i.gate = gate;
          i.since_gate = ++since_gate;
          if (!schedule::is_communication(op.kind)) i.work = cost_.time(p, op, s_.shapes[op.shape]).time.ps();
          if (schedule::is_compute(op.kind))
            i.work = static_cast<std::int64_t>(std::ceil(static_cast<double>(i.work) / speed));
          const std::size_t at = items_.size();
          if (op.record != schedule::kNoFormal) recorded[event(op.record)] = at;
          last_of[op.stream] = at + 1;
          if (op.kind == OpKind::host_wait) gate = at + 1, since_gate = 0;
          i.run_first = i.run_last = at;
          items_.push_back(i);
        }
      });
    }
    for (std::size_t at = first; at < items_.size(); ++at) {
      const std::size_t before = items_[at].previous;
      if (before == 0 || !items_[before - 1].op->grouped || items_[before - 1].step != items_[at].step)
        continue;
      items_[at].run_first = items_[before - 1].run_first;
      for (std::size_t i = items_[at].run_first; i <= at; ++i)
        if (items_[i].op->stream == items_[at].op->stream && items_[i].run_first == items_[at].run_first)
          items_[i].run_last = at;
    }
  }

  // The n-th message of a kind that a rank issues meets the n-th of its partners.
  void match() {
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> meetings;
    std::map<std::vector<std::int64_t>, std::int64_t> count;
    for (std::size_t at = 0; at < items_.size(); ++at) {
      const Op& op = *items_[at].op;
      if (!schedule::is_communication(op.kind)) continue;
      const schedule::Group& g = s_.groups[op.group];
      const std::int64_t r = items_[at].rank;
      std::vector<std::int64_t> key{op.group, g.first(r)}, own{op.group, g.first(r), r};
      if (schedule::is_point_to_point(op.kind)) {
        const std::int64_t other = g.member(r, (g.index(r) + op.peer + 2 * g.size) % g.size);
        const bool sends = op.kind == OpKind::send;
        key = {op.group, sends ? r : other, sends ? other : r, op.site, -1};
        own = key;
        own.push_back(sends ? 1 : 0);
      }
      key.push_back(count[own]++);
      meetings[key].push_back(at);
    }
    for (const auto& [key, members] : meetings)
      for (const std::size_t at : members) {
        items_[at].partners = members;
        plan_message(items_[at]);
      }
  }

  void plan_message(Item& i) {
    const Bytes bytes = schedule::message_bytes(s_.program_of(i.rank), *i.op);
    const schedule::Group& g = s_.groups[i.op->group];
    std::vector<std::int64_t> members;
    for (std::int64_t m = 0; m < g.size; ++m) members.push_back(g.member(i.rank, m));
    if (schedule::is_point_to_point(i.op->kind)) {
      std::int64_t from = i.rank, to = g.member(i.rank, (g.index(i.rank) + i.op->peer + 2 * g.size) % g.size);
      if (i.op->kind == OpKind::recv) std::swap(from, to);
      members = {from, to};
      if (from != to) i.plan = network_.point_to_point(from, to, bytes);
    } else {
      i.plan = network_.collective(i.op->kind, bytes, members);
    }
    i.work = i.plan.time.ps();
    std::sort(members.begin(), members.end());
    complete_[&i - items_.data()] = schedule::is_point_to_point(i.op->kind)
                                        ? i.partners.size() == 2
                                        : i.partners.size() == members.size();
  }

  std::int64_t issue_time(const Item& i) const {
    const Item& last = items_[i.run_last];
    if (last.gate != 0 && !items_[last.gate - 1].ended) return -1;  // not yet known
    return (last.gate == 0 ? 0 : items_[last.gate - 1].end) + last.since_gate * c_.host_issue_cost.ps();
  }

  bool ready(const Item& i) const {
    const Item& first = items_[i.run_first];
    for (std::size_t at = first.previous; at != 0; at = items_[at - 1].previous) {
      if (!items_[at - 1].ended) return false;
      if (items_[at - 1].run_first == at - 1) break;
    }
    for (std::size_t at = i.run_first; at <= i.run_last; ++at) {
      if (items_[at].run_first != i.run_first || items_[at].op->stream != i.op->stream) continue;
      for (const std::size_t after : items_[at].after)
        if (!run_over(after) && items_[after].run_first != i.run_first) return false;
    }
    const std::int64_t issued = issue_time(i);
    return issued >= 0 && issued <= now_;
  }

  bool run_over(std::size_t at) const {
    for (std::size_t i = items_[at].run_first; i <= items_[at].run_last; ++i)
      if (items_[i].run_first == items_[at].run_first && items_[i].op->stream == items_[at].op->stream &&
          !items_[i].ended)
        return false;
    return true;
  }

  bool apply() {
    bool changed = false;
    for (Item& i : items_)
      if (i.started && !i.ended && i.end == now_) i.ended = changed = true;
    for (std::size_t at = 0; at < items_.size(); ++at) {
      Item& i = items_[at];
      if (!i.posted && ready(i)) i.posted = changed = true;
      if (!i.posted || i.started) continue;
      bool all = !schedule::is_communication(i.op->kind) || complete_[static_cast<std::ptrdiff_t>(at)];
      for (const std::size_t p : i.partners) all &= items_[p].posted;
      if (!all) continue;
      i.started = changed = true;
      i.start = i.since = now_;
      i.left = i.work;
      i.end = now_ + i.work;
      i.rate = kFull;
      if (i.op->kind == OpKind::host_wait) i.ended = true;
    }
    return changed;
  }

  bool last_step_over() const {
    return std::all_of(items_.begin(), items_.end(),
                       [&](const Item& i) { return i.ended || i.step >= steps_; });
  }

  void rescale() {
    if (!share_) return;
    engine::MaxMinSolver solver;
    std::vector<std::size_t> transfers;  // the first partner stands for all
    for (std::size_t at = 0; at < items_.size(); ++at) {
      const Item& i = items_[at];
      if (!i.started || i.ended || !schedule::is_communication(i.op->kind) || i.partners.front() != at)
        continue;
      std::map<std::uint32_t, std::uint32_t> weights;
      for (const std::size_t p : i.partners) {
        std::vector<Load> loads;
        network_.loads(i.plan, items_[p].rank, items_[p].op->kind != OpKind::recv,
                       items_[p].op->kind != OpKind::send, loads);
        for (const Load& l : loads) weights[l.resource] += l.weight;
      }
      std::vector<Load> loads;
      for (const auto& [resource, weight] : weights) loads.push_back({resource, std::min(weight, kFullLoad)});
      solver.add_activity(loads);
      transfers.push_back(at);
    }
    const std::span<const std::int64_t> rates = solver.solve();
    for (std::size_t t = 0; t < transfers.size(); ++t)
      for (const std::size_t p : items_[transfers[t]].partners) set_rate(items_[p], rates[t]);
    for (Item& i : items_)
      if (i.started && !i.ended && schedule::is_compute(i.op->kind)) set_rate(i, kernel_rate(i));
  }

  std::int64_t kernel_rate(const Item& kernel) const {
    std::int64_t kernels = 0, taken = 0;
    for (const Item& i : items_) {
      if (i.rank != kernel.rank || !i.started || i.ended) continue;
      if (schedule::is_compute(i.op->kind)) ++kernels;
      if (schedule::is_communication(i.op->kind)) taken += i.plan.sms;
    }
    const std::int64_t sms = c_.gpu.sms;
    if (!bound(kernel.op->kind) || sms == 0) return kFull / kernels;
    return kFull * std::max(sms - taken, std::max<std::int64_t>(sms / 8, 1)) / (sms * kernels);
  }

  void set_rate(Item& i, std::int64_t rate) const {
    if (i.rate == rate) return;
    i.left -= (now_ - i.since) * i.rate / kFull;
    i.since = now_;
    i.rate = rate;
    i.end = now_ + (i.left * kFull + rate - 1) / rate;
  }

  const schedule::Schedule& s_;
  const hardware::Cluster& c_;
  const KernelCost& cost_;
  const NetworkModel& network_;
  int steps_;
  bool share_;
  std::int64_t now_ = 0;
  std::vector<Item> items_;
  std::map<std::ptrdiff_t, bool> complete_;  // all sides of the message exist
};

}  // namespace

std::vector<NaiveOp> naive_simulate(const schedule::Schedule& schedule, const hardware::Cluster& cluster,
                                    const KernelCost& cost, const NetworkModel& network, int steps,
                                    bool share) {
  return Naive(schedule, cluster, cost, network, steps, share).run();
}

}  // namespace orrery::sim::test
