// The automatic zero-bubble scheduler (Qi et al. 2023, section 3.1): given each rank's times of F, B and W and how many
// microbatches may be in flight on it, a greedy pass over all ranks in order of time. A rank that is free takes what it
// can start first, of two a B before an F, an F only within the limit; a W where nothing else can start before the W
// would be over, or to make room; whether also in a gap that is shorter, by what share of it, is a parameter that is
// tried out. H1 and H2, where they keep to the limit, compete with these; what is fastest by the given times is kept.
//
// ZB-1p has the limit p, ZB-2p 2 p, zb-auto what the scenario says. From some number of microbatches on the steady state
// repeats itself, and is made longer instead of scheduled; an order without one is passed over then, and only if none has
// one everything is scheduled. Cost: O(ranks^2 x microbatches), these at most 8 p unless no order repeats itself.
#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "schedule/compile/pipeline_order.h"

namespace orrery::schedule {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// One pipeline of one chunk a rank, microbatches in order.
class Greedy {
 public:
  Greedy(const PipelineShape& shape, double share_of_gap)
      : shape_(shape), share_(share_of_gap), ranks_(static_cast<std::size_t>(shape.stages)) {}

  std::vector<Order> run() {
    const std::int64_t actions = 3 * shape_.microbatches * shape_.stages;
    for (std::int64_t i = 0; i < actions; ++i) {
      Next first;
      for (std::size_t r = 0; r < ranks_.size(); ++r)
        if (const Next next = choose(r); next.start < first.start) first = next;
      CHECK(first.start < kNever, "nothing can start");
      take(first);
    }
    std::vector<Order> orders;
    for (Rank& rank : ranks_) orders.push_back(std::move(rank.order));
    return orders;
  }

 private:
  struct Rank {
    std::vector<std::int64_t> forward_ends, input_ends;
    std::size_t weights = 0;
    std::int64_t free = 0;
    Order order;
  };
  struct Next {
    std::int64_t start = kNever;
    ActionKind kind = ActionKind::forward;
    std::size_t rank = 0;
  };

  // When the i-th value from a neighbour is there.
  static std::int64_t at(const std::vector<std::int64_t>& ends, std::size_t i) { return i < ends.size() ? ends[i] : kNever; }

  Next choose(std::size_t r) const {
    const Rank& rank = ranks_[r];
    const std::size_t forwards = rank.forward_ends.size(), inputs = rank.input_ends.size();
    const bool room = forwards - rank.weights < static_cast<std::size_t>(shape_.in_flight);
    std::int64_t forward = kNever, input = kNever;
    if (forwards < static_cast<std::size_t>(shape_.microbatches) && room)
      forward = r == 0 ? 0 : at(ranks_[r - 1].forward_ends, forwards);
    if (inputs < forwards)
      input = r + 1 == ranks_.size() ? rank.forward_ends[inputs] : at(ranks_[r + 1].input_ends, inputs);
    Next next{std::max(forward, rank.free), ActionKind::forward, r};
    if (std::max(input, rank.free) <= next.start) next = {std::max(input, rank.free), ActionKind::backward_input, r};
    if (rank.weights == inputs) return next;
    const auto wait = static_cast<double>(next.start == kNever ? kNever : next.start - rank.free);
    const auto weight = static_cast<double>(shape_.times[r].weight);
    return wait >= weight || wait > share_ * weight ? Next{rank.free, ActionKind::backward_weight, r} : next;
  }

  void take(const Next& next) {
    Rank& rank = ranks_[next.rank];
    const StageTimes& times = shape_.times[next.rank];
    const auto append = [&](std::size_t microbatch, std::int64_t takes) {
      rank.order.push_back({.kind = next.kind, .microbatch = static_cast<std::uint32_t>(microbatch)});
      rank.free = next.start + takes;
    };
    if (next.kind == ActionKind::forward) {
      append(rank.forward_ends.size(), times.forward);
      rank.forward_ends.push_back(rank.free);
    } else if (next.kind == ActionKind::backward_input) {
      append(rank.input_ends.size(), times.input);
      rank.input_ends.push_back(rank.free);
    } else {
      append(rank.weights++, times.weight);
    }
  }

  const PipelineShape& shape_;
  double share_;
  std::vector<Rank> ranks_;
};

// How long the busiest rank needs from its first action to its last: the step, when nothing joins the ranks at its end.
std::int64_t span(const PipelineShape& shape, const std::vector<Order>& orders) {
  const std::size_t ranks = orders.size(), m = static_cast<std::size_t>(shape.microbatches);
  std::vector<std::vector<std::int64_t>> forward(ranks, std::vector<std::int64_t>(m, kNever)), input = forward;
  std::vector<std::size_t> next(ranks, 0);
  std::vector<std::int64_t> free(ranks, 0), first(ranks, kNever);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < ranks; ++r)
      for (; next[r] < orders[r].size(); ++next[r], moved = true) {
        const Action& a = orders[r][next[r]];
        std::int64_t ready = 0;
        if (is_forward(a) && r > 0) ready = forward[r - 1][a.microbatch];
        if (gives_gradient(a) && r + 1 < ranks) ready = input[r + 1][a.microbatch];
        if (ready == kNever) break;
        const std::int64_t start = std::max(free[r], ready);
        first[r] = std::min(first[r], start);
        const StageTimes& t = shape.times[r];
        free[r] = start + (is_forward(a) ? t.forward : gives_gradient(a) ? t.input : t.weight);
        if (is_forward(a)) forward[r][a.microbatch] = free[r];
        if (gives_gradient(a)) input[r][a.microbatch] = free[r];
      }
  }
  std::int64_t longest = 0;
  for (std::size_t r = 0; r < ranks; ++r) longest = std::max(longest, free[r] - first[r]);
  return longest;
}

// The fastest first.
std::vector<std::vector<Order>> candidates(const PipelineShape& shape) {
  std::vector<std::vector<Order>> all;
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) all.push_back(Greedy(shape, share).run());
  const auto by_hand = [&](Order (*order)(const PipelineShape&, std::int64_t), std::int64_t in_flight) {
    if (shape.in_flight < std::min(in_flight, shape.microbatches)) return;
    std::vector<Order>& orders = all.emplace_back();
    for (std::int64_t r = 0; r < shape.stages; ++r) orders.push_back(order(shape, r));
  };
  by_hand(zero_bubble_h1_order, shape.stages);
  by_hand(zero_bubble_h2_order, 2 * shape.stages - 1);
  std::vector<std::pair<std::int64_t, std::size_t>> ranking;
  for (std::size_t i = 0; i < all.size(); ++i) ranking.emplace_back(span(shape, all[i]), i);
  std::sort(ranking.begin(), ranking.end());
  std::vector<std::vector<Order>> ranked;
  for (const auto& [takes, i] : ranking) ranked.push_back(std::move(all[i]));
  return ranked;
}

// The order for `more` microbatches more: a round of F, B and W in its middle is run so many times more.
std::optional<Order> extended(const Order& order, std::uint32_t more) {
  constexpr std::size_t kRound = 3;
  if (more == 0) return order;
  const auto later = [](Action a, std::uint32_t by) {
    a.microbatch += by;
    return a;
  };
  for (std::size_t i = order.size() / 2; i + 2 * kRound <= order.size(); ++i) {
    bool repeats = true;
    for (std::size_t k = i; k < i + kRound; ++k) repeats = repeats && later(order[k], 1) == order[k + kRound];
    if (!repeats) continue;
    Order longer(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i + kRound));
    for (std::uint32_t n = 1; n <= more; ++n)
      for (std::size_t k = i; k < i + kRound; ++k) longer.push_back(later(order[k], n));
    for (std::size_t k = i + kRound; k < order.size(); ++k) longer.push_back(later(order[k], more));
    return longer;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Order> zero_bubble_auto_orders(const PipelineShape& shape) {
  CHECK(static_cast<std::int64_t>(shape.times.size()) == shape.stages, shape.times.size());
  PipelineShape scheduled = shape;
  if (shape.in_flight == 0) scheduled.in_flight = 2 * shape.stages;
  scheduled.microbatches = std::min(shape.microbatches, 8 * shape.stages);
  const auto more = static_cast<std::uint32_t>(shape.microbatches - scheduled.microbatches);
  for (std::vector<Order>& orders : candidates(scheduled)) {
    bool goes_on = true;
    for (Order& order : orders) {
      std::optional<Order> longer = extended(order, more);
      goes_on = goes_on && longer.has_value();
      if (goes_on) order = std::move(*longer);
    }
    if (goes_on) return orders;
  }
  scheduled.microbatches = shape.microbatches;
  return std::move(candidates(scheduled).front());
}

}  // namespace orrery::schedule
