#include "schedule/compile/pipeline_order.h"

#include <algorithm>
#include <array>

namespace orrery::schedule {
namespace {

// Most orders follow from the rank's number; others are made for all ranks together.
using Orders = std::vector<Order> (*)(const PipelineShape& shape);

template <Order (*order)(const PipelineShape&, std::int64_t)>
std::vector<Order> of_each_rank(const PipelineShape& shape) {
  std::vector<Order> orders;
  for (std::int64_t rank = 0; rank < shape.stages; ++rank) orders.push_back(order(shape, rank));
  return orders;
}

// ZB-1p and ZB-2p: as many microbatches in flight as there are ranks, or twice that.
template <std::int64_t rounds>
std::vector<Order> within(const PipelineShape& shape) {
  PipelineShape limited = shape;
  limited.in_flight = rounds * shape.stages;
  return zero_bubble_auto_orders(limited);
}

constexpr std::array<Orders, scenarios::kPipelineSchedules> kOrders = {
    of_each_rank<gpipe_order>,          of_each_rank<one_f_one_b_order>,    of_each_rank<interleaved_order>,
    of_each_rank<breadth_first_order>,  of_each_rank<zero_bubble_h1_order>, of_each_rank<zero_bubble_h2_order>,
    within<1>,                          within<2>,                          zero_bubble_auto_orders,
    of_each_rank<zero_bubble_v_order>,  of_each_rank<dual_pipe_order>,      of_each_rank<dual_pipe_v_order>};

}  // namespace

std::vector<Order> pipeline_orders(scenarios::PipelineSchedule schedule, const PipelineShape& shape) {
  return kOrders[static_cast<std::size_t>(schedule)](shape);
}

// The oldest microbatch in flight only grows, so one pass with two cursors suffices: a microbatch is done when every
// chunk that ran it forward has completed it.
std::uint32_t microbatches_in_flight(const Order& order) {
  std::vector<std::uint32_t> left;
  for (const Action& a : order) {
    if (a.microbatch >= left.size()) left.resize(a.microbatch + 1, 0);
    if (is_forward(a)) ++left[a.microbatch];
  }
  std::uint32_t newest = 0, most = 0, oldest = 0;
  for (const Action& a : order) {
    if (is_forward(a)) {
      newest = std::max(newest, a.microbatch + 1);
      most = std::max(most, newest - std::min(newest, oldest));
    } else if (completes(a)) {
      --left[a.microbatch];
      while (oldest < left.size() && left[oldest] == 0) ++oldest;
    }
  }
  return most;
}

}  // namespace orrery::schedule
