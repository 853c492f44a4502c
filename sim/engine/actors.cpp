// Cost: classes x ports x members of a meeting; the ranks on a resource are looked at once per kind of
// transfer.
#include "sim/engine/actors.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/check.h"
#include "schedule/expert_rows.h"

namespace orrery::sim::engine {
namespace {

using schedule::Op;
using schedule::Program;

class CastMaker {
 public:
  explicit CastMaker(const CastInput& in) : in_(in), speeds_(in.cluster.slow_gpus) {
    std::sort(speeds_.begin(), speeds_.end());
  }

  Cast cast() {
    for (std::size_t c = 0; c < in_.classes.representative.size(); ++c) {
      const std::int64_t rank = in_.classes.representative[c];
      const auto program = static_cast<std::uint32_t>(in_.schedule.program_group.index(rank));
      CHECK(program < in_.schedule.programs.size(), program);
      cast_.actors.push_back({.rank = rank,
                              .ranks = in_.classes.size[c],
                              .program = program,
                              .profile = profile_of(program, speed_of(rank), rank),
                              .first_port = static_cast<std::uint32_t>(cast_.ports.size())});
      if (in_.share) add_cores(static_cast<std::uint32_t>(c));
      for (const Port& port : in_.messages.ports[program]) cast_.ports.push_back(port_use(rank, port));
    }
    return std::move(cast_);
  }

 private:
  void add_cores(std::uint32_t own_class) {
    Actor& actor = cast_.actors.back();
    const std::optional<Cores> cores = in_.network.cores_of(actor.rank);
    if (!cores) return;
    cast_.cores = cores->count;
    actor.ranks_on_node = 0;
    for (std::size_t i = in_.use.first_of_resource[cores->resource];
         i < in_.use.first_of_resource[cores->resource + 1]; ++i)
      actor.ranks_on_node += in_.classes.class_of[in_.use.of_resource[i]] == own_class ? 1 : 0;
    actor.core = {local_resource(in_.classes.resource[cores->resource]),
                  cores->weight() * actor.ranks_on_node};
  }

  std::uint32_t local_resource(std::uint64_t color) {
    const auto at = resources_.try_emplace(color, cast_.resources).first;
    if (at->second == cast_.resources) ++cast_.resources;
    return at->second;
  }

  double speed_of(std::int64_t rank) const {
    const auto at = std::lower_bound(speeds_.begin(), speeds_.end(), std::pair(rank, 0.0));
    const double speed = at != speeds_.end() && at->first == rank ? at->second : 1.0;
    CHECK(speed > 0.0, rank, speed);
    return speed;
  }

  std::uint32_t profile_of(std::uint32_t program, double speed, std::int64_t rank) {
    const std::int64_t rows = in_.by_rows.empty() ? 0 : schedule::drawn_rows_of(in_.schedule, rank);
    const auto [at, fresh] = profiles_.try_emplace({program, speed, rows}, cast_.durations.size());
    if (fresh) add_durations(in_.by_rows.empty() ? in_.schedule : in_.by_rows.at(rows), program, speed);
    return static_cast<std::uint32_t>(at->second);
  }

  void add_durations(const schedule::Schedule& schedule, std::uint32_t index, double speed) {
    const Program& program = schedule.programs[index];
    static const schedule::KernelShape kNoShape{};
    std::vector<std::int64_t>& durations = cast_.durations.emplace_back();
    std::vector<std::uint32_t>& contention = cast_.contention.emplace_back();
    for (const Op& op : program.ops) {
      const bool none = schedule::is_communication(op.kind) || op.kind == schedule::OpKind::host_wait;
      const auto& shapes = schedule.shapes;
      const schedule::KernelShape& shape = op.shape < shapes.size() ? shapes[op.shape] : kNoShape;
      const KernelTime time = none ? KernelTime{} : in_.cost.time(program, op, shape);
      std::int64_t ps = time.time.ps();
      if (schedule::is_compute(op.kind) && speed != 1.0)
        ps = static_cast<std::int64_t>(std::ceil(static_cast<double>(ps) / speed));
      durations.push_back(ps);
      contention.push_back(
          static_cast<std::uint32_t>(std::lround(time.contention * static_cast<double>(kContentionUnit))));
    }
  }

  PortUse port_use(std::int64_t rank, const Port& port) {
    const std::uint32_t channel = in_.messages.messages[port.message].channel;
    const std::uint32_t relation = in_.messages.relation_of(port.message);
    const std::int64_t instance =
        instance_of(in_.schedule, in_.messages.relations[relation], rank, port.side);
    const std::uint64_t meeting = in_.classes.meeting[relation][static_cast<std::size_t>(instance)];
    const auto [place, fresh_place] = places_.try_emplace({channel, meeting}, cast_.places.size());
    if (fresh_place) add_place(channel, instance);
    const auto [kind, fresh_kind] = kinds_.try_emplace({place->second, port.message}, cast_.kinds.size());
    if (fresh_kind) add_kind(cast_.places[place->second], port.message, meeting);
    return {.place = static_cast<std::uint32_t>(place->second),
            .kind = static_cast<std::uint32_t>(kind->second)};
  }

  void add_place(std::uint32_t channel, std::int64_t instance) {
    const Relation& relation = in_.messages.relations[in_.messages.channels[channel].relation];
    members_of(in_.schedule, relation, instance, members_);
    std::vector<std::uint32_t> classes;
    for (const std::int64_t m : members_)
      classes.push_back(in_.classes.class_of[static_cast<std::size_t>(m)]);
    std::sort(classes.begin(), classes.end());
    classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
    const std::size_t needed = relation.point_to_point ? 2 : classes.size();
    cast_.places.push_back(
        {.channel = channel, .instance = instance, .needed = static_cast<std::uint32_t>(needed)});
  }

  void add_kind(Place& place, std::uint32_t message, std::uint64_t meeting) {
    const Relation& relation = in_.messages.relations[in_.messages.relation_of(message)];
    const TransferPlan& plan = in_.plans.plan(in_.messages, message, place.instance);
    members_of(in_.schedule, relation, place.instance, members_);
    TransferKind kind{
        .time = plan.time.ps(),
        .sms = in_.share ? plan.sms : 0,
        .group = static_cast<std::uint8_t>(schedule::kind_of_group(in_.schedule, relation.group)),
        .first_load = static_cast<std::uint32_t>(cast_.loads.size())};
    const auto program = [&](std::int64_t rank) { return in_.schedule.program_group.index(rank); };
    for (const std::int64_t m : members_) kind.across |= program(m) != program(members_.front());
    if (in_.share && kind.time > 0) add_loads(relation, message, plan, meeting);
    kind.loads = static_cast<std::uint32_t>(cast_.loads.size()) - kind.first_load;
    place.most_loads = std::max(place.most_loads, kind.loads);
    cast_.kinds.push_back(kind);
  }

  void add_loads(const Relation& relation, std::uint32_t message, const TransferPlan& plan,
                 std::uint64_t meeting) {
    std::vector<std::uint64_t> seen;
    for (std::size_t i = 0; i < members_.size(); ++i) {
      std::vector<Load> loads;
      in_.network.loads(plan, members_[i], !relation.point_to_point || i == 0,
                        !relation.point_to_point || i == 1, loads);
      for (const Load& load : loads) {
        const std::uint64_t color = in_.classes.resource[load.resource];
        if (load.weight == 0 || std::find(seen.begin(), seen.end(), color) != seen.end()) continue;
        seen.push_back(color);
        cast_.loads.push_back(
            {.resource = local_resource(color), .weight = weight_on(load.resource, message, meeting)});
      }
    }
  }

  // Of all meetings of the class together.
  std::uint32_t weight_on(std::uint32_t resource, std::uint32_t message, std::uint64_t meeting) {
    const std::uint32_t c = in_.messages.relation_of(message);
    const Relation& relation = in_.messages.relations[c];
    std::map<std::int64_t, std::uint64_t> sums;  // by instance
    const auto add = [&](std::int64_t rank, Side side) {
      const std::int64_t instance = instance_of(in_.schedule, relation, rank, side);
      const auto at = static_cast<std::size_t>(instance);
      if (in_.plans.row_of[c][at] == kNone || in_.classes.meeting[c][at] != meeting) return;
      std::vector<Load> loads;
      in_.network.loads(in_.plans.plan(in_.messages, message, instance), rank, side != Side::receiver,
                        side != Side::sender, loads);
      for (const Load& load : loads)
        if (load.resource == resource) sums[instance] += load.weight;
    };
    for (std::size_t i = in_.use.first_of_resource[resource]; i < in_.use.first_of_resource[resource + 1];
         ++i) {
      const std::int64_t rank = in_.use.of_resource[i];
      if (!in_.schedule.groups[relation.group].contains(rank)) continue;
      if (relation.point_to_point) {
        add(rank, Side::sender);
        add(rank, Side::receiver);
      } else {
        add(rank, Side::member);
      }
    }
    std::uint64_t weight = 0;
    for (const auto& [instance, sum] : sums) weight += std::min<std::uint64_t>(sum, kFullLoad);
    return static_cast<std::uint32_t>(weight);
  }

  const CastInput& in_;
  std::vector<std::pair<std::int64_t, double>> speeds_;  // of slow GPUs, by rank
  Cast cast_;
  std::map<std::tuple<std::uint32_t, double, std::int64_t>, std::size_t> profiles_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> places_;
  std::map<std::pair<std::size_t, std::uint32_t>, std::size_t> kinds_;
  std::map<std::uint64_t, std::uint32_t> resources_;
  std::vector<std::int64_t> members_;
};

}  // namespace

Cast make_cast(const CastInput& input) { return CastMaker(input).cast(); }

}  // namespace orrery::sim::engine
