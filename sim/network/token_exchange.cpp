#include "sim/network/token_exchange.h"

#include <algorithm>
#include <cmath>

#include "sim/network/point_to_point.h"

namespace orrery::sim {
namespace {

// Boxes in which `taken` of `things`, at random, are.
double boxes_hit(double boxes, double things, double taken) {
  const double elsewhere = things - things / boxes;
  if (boxes <= 1.0 || taken > elsewhere) return boxes;
  const auto log_choose = [](double n, double k) { return std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0); };
  return boxes * (1.0 - std::exp(log_choose(elsewhere, taken) - log_choose(things, taken)));
}

}  // namespace

double machines_of_token(const TokenExchange& e, double machines) {
  const double experts = static_cast<double>(e.experts), groups = static_cast<double>(std::max(e.groups, 1));
  const double top = e.groups > 1 ? static_cast<double>(e.top_groups) : groups, rows = static_cast<double>(e.choices);
  if (e.groups <= 1 || top >= groups) return boxes_hit(machines, experts, rows);
  const double of_groups = boxes_hit(top, experts * top / groups, rows);
  if (machines >= groups) return of_groups * boxes_hit(machines / groups, experts / groups, rows / of_groups);
  return boxes_hit(machines, groups, of_groups);
}

Estimate by_node_estimate(const CollectiveCall& call, const TokenExchange& exchange) {
  const GroupLinks& links = call.links;
  if (links.nodes == 1) return all_to_all_estimate(call);
  const double machines = static_cast<double>(links.nodes), p = static_cast<double>(links.per_node);
  const double beyond = machines_of_token(exchange, machines) * (machines - 1.0) / machines;
  Estimate estimate = all_to_all_estimate(call);
  estimate.machine_bytes = p * call.bytes * beyond / static_cast<double>(exchange.choices);
  double us_per_byte = estimate.machine_bytes / (call.bytes * links.exchange_bus * 1000.0);
  if (links.per_node > 1) {
    const Correction& correction = correction_of(call.cluster.gpu);
    const double plateau = links.nvswitch ? correction.all_to_all : links.nvlink ? correction.bandwidth : 1.0;
    us_per_byte = std::max(us_per_byte, 1.0 / (p * links.pair_rate * plateau * 1000.0));
    estimate.port_bytes = call.bytes * (p - 1.0) / p;
    estimate.latency_us += correction.point_to_point_us;
  }
  estimate.bandwidth = 1.0 / (us_per_byte * 1000.0);
  estimate.choice_us = estimate.time_us(call.bytes);
  return estimate;
}

}  // namespace orrery::sim
