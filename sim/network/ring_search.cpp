#include "sim/network/ring_search.h"

#include <algorithm>
#include <numeric>

namespace orrery::sim {
namespace {

constexpr int kMaxRings = 32;
constexpr std::size_t kMaxQuanta = 24;
constexpr int kBudget = 4'000;  // hops tried for one ring

struct Hop {
  std::vector<std::uint32_t> arcs;
  std::int64_t cost = 0;
  bool nvlink = false;
};

// Routes between all members, and what is left of every arc they use.
class Board {
 public:
  Board(const Topology& topology, const RouteTable& routes, const std::vector<VertexIndex>& members)
      : count_(members.size()), hops_(count_ * count_), capacity_(boost::num_edges(topology.graph), 0.0) {
    for (std::size_t a = 0; a < count_; ++a)
      for (std::size_t b = 0; b < count_; ++b) {
        if (a == b) continue;
        const Route route = routes.route(members[a], members[b]);
        Hop& hop = hops_[a * count_ + b];
        hop.nvlink = route.nvlink_only;
        hop.cost = routes.cost(members[a], members[b]);
        for (const ArcIndex arc : route.arcs) {
          hop.arcs.push_back(topology.graph[arc].index);
          capacity_[hop.arcs.back()] = topology.graph[arc].usable;
        }
      }
  }

  std::vector<double> quanta() const {
    std::vector<double> found;
    for (const Hop& hop : hops_)
      for (const std::uint32_t arc : hop.arcs)
        for (const double share : {1.0, 2.0, 3.0, 4.0}) found.push_back(capacity_[arc] / share);
    std::sort(found.begin(), found.end(), std::greater<>());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    if (found.size() > kMaxQuanta) found.resize(kMaxQuanta);
    return found;
  }

  // Costs of hops, ascending: the farthest kind of hop that a search may use.
  std::vector<std::int64_t> reaches() const {
    std::vector<std::int64_t> found;
    for (const Hop& hop : hops_)
      if (!hop.arcs.empty()) found.push_back(hop.cost);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  // One ring in the order given, at the speed that its most loaded link allows: always possible.
  RingSet in_order() const {
    std::vector<double> load(capacity_.size(), 0.0);
    RingSet set{1, 1e300, true};
    for (std::size_t i = 0; i < count_; ++i) take(hop(i, (i + 1) % count_), -1.0, load);
    for (std::size_t i = 0; i < count_; ++i) {
      const Hop& h = hop(i, (i + 1) % count_);
      set.nvlink = set.nvlink && h.nvlink;
      for (const std::uint32_t arc : h.arcs) set.bandwidth = std::min(set.bandwidth, capacity_[arc] / load[arc]);
    }
    return set;
  }

  RingSet fill(double quantum, std::int64_t reach) {
    reach_ = reach;
    std::vector<double> left = capacity_;
    RingSet set{0, quantum, true};
    std::vector<std::size_t> ring;
    while (set.rings < kMaxRings && lay(quantum, left, ring)) {
      ++set.rings;
      for (std::size_t i = 0; i < ring.size(); ++i)
        set.nvlink = set.nvlink && hop(ring[i], ring[(i + 1) % ring.size()]).nvlink;
    }
    return set;
  }

 private:
  const Hop& hop(std::size_t a, std::size_t b) const { return hops_[a * count_ + b]; }

  void take(const Hop& h, double amount, std::vector<double>& left) const {
    for (const std::uint32_t arc : h.arcs) left[arc] -= amount;
  }

  // Free capacity of a hop for one more quantum; a route may use an arc once only, so the minimum is enough.
  double room(const Hop& h, const std::vector<double>& left) const {
    if (h.cost > reach_) return 0.0;
    double least = 1e300;
    for (const std::uint32_t arc : h.arcs) least = std::min(least, left[arc]);
    return least;
  }

  bool lay(double quantum, std::vector<double>& left, std::vector<std::size_t>& ring) const {
    ring.assign(1, 0);
    std::vector<bool> used(count_, false);
    used[0] = true;
    int budget = kBudget;
    return extend(quantum, left, ring, used, budget);
  }

  // Goes on to the member with most room, NVLink first, nearest index first; takes capacity as it goes.
  bool extend(double quantum, std::vector<double>& left, std::vector<std::size_t>& ring, std::vector<bool>& used,
              int& budget) const {
    const double slack = quantum * 1e-9;
    const std::size_t last = ring.back();
    if (ring.size() == count_) {
      if (room(hop(last, 0), left) + slack < quantum) return false;
      take(hop(last, 0), quantum, left);
      return true;
    }
    std::vector<std::size_t> next;
    for (std::size_t b = 0; b < count_; ++b)
      if (!used[b] && room(hop(last, b), left) + slack >= quantum) next.push_back(b);
    std::stable_sort(next.begin(), next.end(), [&](std::size_t a, std::size_t b) {
      const Hop &ha = hop(last, a), &hb = hop(last, b);
      if (ha.nvlink != hb.nvlink) return ha.nvlink;
      if (ha.arcs.size() != hb.arcs.size()) return ha.arcs.size() < hb.arcs.size();
      return room(ha, left) > room(hb, left);
    });
    for (const std::size_t b : next) {
      if (--budget < 0) return false;
      take(hop(last, b), quantum, left);
      ring.push_back(b);
      used[b] = true;
      if (extend(quantum, left, ring, used, budget)) return true;
      used[b] = false;
      ring.pop_back();
      take(hop(last, b), -quantum, left);
    }
    return false;
  }

  std::size_t count_;
  std::vector<Hop> hops_;
  std::vector<double> capacity_;
  std::int64_t reach_ = 0;
};

}  // namespace

RingSet search_rings(const Topology& topology, const RouteTable& routes, const std::vector<VertexIndex>& members) {
  CHECK(members.size() >= 2, members.size());
  Board board(topology, routes, members);
  const std::vector<double> quanta = board.quanta();
  RingSet best;
  for (const std::int64_t reach : board.reaches()) {
    for (const double quantum : quanta) {
      const RingSet set = board.fill(quantum, reach);
      if (set.rings > 0 && set.total() > best.total() * (1.0 + 1e-9)) best = set;
    }
    if (best.rings > 0) break;
  }
  return best.rings > 0 ? best : board.in_order();
}

}  // namespace orrery::sim
