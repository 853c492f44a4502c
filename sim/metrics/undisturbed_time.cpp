#include "sim/metrics/undisturbed_time.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <tuple>

#include "schedule/kernel_work.h"
#include "sim/cost/analytic_cost.h"
#include "sim/metrics/block_runs.h"
#include "sim/network/select.h"

namespace orrery::sim {
namespace {

class Collector {
 public:
  Collector(const schedule::Schedule& schedule, const KernelCost& cost, const NetworkModel& network,
            const scenarios::Network& wanted)
      : schedule_(schedule), cost_(cost), network_(network), wanted_(wanted) {}

  UndisturbedTime run() {
    for (std::size_t p = 0; p < schedule_.programs.size(); ++p) {
      const schedule::Program& program = schedule_.programs[p];
      const std::int64_t rank = representative(schedule_, p);
      for_each_distinct_op(program, [&](const schedule::Op& op, std::int64_t runs) {
        sums_.ops += static_cast<double>(runs);
        if (schedule::is_communication(op.kind))
          add_transfer(program, op, rank, static_cast<double>(runs));
        else
          add_kernel(program, op, static_cast<double>(runs));
      });
    }
    sums_.disobedient.assign(disobedient_.begin(), disobedient_.end());
    return std::move(sums_);
  }

 private:
  void add_kernel(const schedule::Program& program, const schedule::Op& op, double runs) {
    const KernelTime time = cost_.time(program, op, schedule_.shapes[op.shape]);
    const double seconds = runs * time.time.seconds();
    if (const auto kernel = kernel_class(op.kind)) {
      const auto of_class = static_cast<std::size_t>(*kernel), origin = static_cast<std::size_t>(time.origin);
      sums_.kernels[of_class].add(seconds, time.log_low, time.log_high);
      sums_.kernels_by_origin[of_class][origin].add(seconds, time.log_low, time.log_high);
    } else {
      Weighed& of_host = op.kind == schedule::OpKind::cpu_adam ? sums_.host_work : sums_.copies;
      of_host.add(seconds, time.log_low, time.log_high);
    }
  }

  void add_transfer(const schedule::Program& program, const schedule::Op& op, std::int64_t rank,
                    double runs) {
    const schedule::Group& group = schedule_.groups[op.group];
    if (group.size < 2 || !group.contains(rank)) return;
    const Spread& spread = spread_of(op, group, rank, schedule::message_bytes(program, op));
    const auto kind = static_cast<std::size_t>(schedule::kind_of_group(schedule_, op.group));
    const auto origin = static_cast<std::size_t>(spread.origin);
    sums_.transfers[kind].add(runs * spread.seconds, spread.log_low, spread.log_high);
    sums_.transfers_by_origin[kind][origin].add(runs * spread.seconds, spread.log_low, spread.log_high);
  }

  struct Spread {
    double seconds, log_low, log_high;
    Origin origin;
  };
  const Spread& spread_of(const schedule::Op& op, const schedule::Group& group, std::int64_t rank,
                          Bytes bytes) {
    const bool pair = schedule::is_point_to_point(op.kind);
    const std::int64_t place = pair ? rank : group.first(rank);
    const Key key{op.group, op.kind, place, pair ? op.peer : 0, bytes.count()};
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second;
    const TransferPlan plan = pair ? pair_plan(op, group, rank, bytes) : group_plan(op, group, rank, bytes);
    if (!pair) note_obedience(op.kind, plan);
    return plans_.emplace(key, Spread{plan.time.seconds(), plan.log_low, plan.log_high, plan.origin}).first->second;
  }

  void note_obedience(schedule::OpKind kind, const TransferPlan& plan) {
    const bool algorithm = wanted_.algorithm != scenarios::Algorithm::automatic;
    const bool protocol = wanted_.protocol != scenarios::Protocol::automatic;
    if ((!algorithm || wanted_.algorithm == plan.algorithm) &&
        (!protocol || wanted_.protocol == plan.protocol))
      return;
    std::string runs = algorithm ? name(plan.algorithm) : "";
    if (protocol) runs += fmt::format("{}{}", runs.empty() ? "" : ", ", name(plan.protocol));
    disobedient_.insert(fmt::format("{} ({})", schedule::name(kind), runs));
  }

  TransferPlan pair_plan(const schedule::Op& op, const schedule::Group& group, std::int64_t rank,
                         Bytes bytes) const {
    const std::int64_t index = (group.index(rank) + op.peer % group.size + group.size) % group.size;
    const std::int64_t peer = group.member(rank, index);
    const bool sends = op.kind == schedule::OpKind::send;
    return network_.point_to_point(sends ? rank : peer, sends ? peer : rank, bytes);
  }

  TransferPlan group_plan(const schedule::Op& op, const schedule::Group& group, std::int64_t rank,
                          Bytes bytes) const {
    std::vector<std::int64_t> members;
    for (std::int64_t i = 0; i < group.size; ++i) members.push_back(group.member(rank, i));
    if (schedule::is_by_node(schedule_, op))
      return network_.by_node(token_exchange(schedule_.shapes[op.shape]), bytes, members);
    return network_.collective(op.kind, bytes, members);
  }

  using Key = std::tuple<std::uint8_t, schedule::OpKind, std::int64_t, std::int64_t, std::int64_t>;
  const schedule::Schedule& schedule_;
  const KernelCost& cost_;
  const NetworkModel& network_;
  const scenarios::Network& wanted_;
  std::map<Key, Spread> plans_;
  std::set<std::string> disobedient_;
  UndisturbedTime sums_;
};

}  // namespace

UndisturbedTime undisturbed_time(const schedule::Schedule& schedule, const KernelCost& cost,
                                 const NetworkModel& network, const scenarios::Network& wanted) {
  return Collector(schedule, cost, network, wanted).run();
}

}  // namespace orrery::sim
