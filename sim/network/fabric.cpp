#include "sim/network/fabric.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace orrery::sim {
namespace {

using hardware::Fabric;
using hardware::FabricKind;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

bool has_leaves(const Fabric& fabric) {
  return fabric.kind == FabricKind::fat_tree_2 || fabric.kind == FabricKind::fat_tree_3 ||
         fabric.kind == FabricKind::rail_optimised;
}

// A level of the tree: which domain each position belongs to, numbered from 0, and its oversubscription.
struct Level {
  std::vector<std::size_t> domain;
  std::size_t domains = 0;
  double oversubscription = 1.0;
};

template <typename DomainOf>
Level level(const std::vector<std::int64_t>& nodes, double oversubscription, DomainOf domain_of) {
  Level result;
  result.oversubscription = oversubscription;
  for (const std::int64_t node : nodes) {
    result.domain.push_back(static_cast<std::size_t>(domain_of(node)));
    result.domains = std::max(result.domains, result.domain.back() + 1);
  }
  return result;
}

std::vector<Level> levels(const Fabric& fabric, const std::vector<std::int64_t>& nodes) {
  std::vector<Level> result;
  if (has_leaves(fabric) && fabric.oversubscription > 1.0)
    result.push_back(level(nodes, fabric.oversubscription, [&](std::int64_t node) { return leaf_of(fabric, node); }));
  if (fabric.kind == FabricKind::fat_tree_3 && fabric.oversubscription * fabric.pod_oversubscription > 1.0)
    result.push_back(level(nodes, fabric.oversubscription * fabric.pod_oversubscription,
                           [&](std::int64_t node) { return pod_of(fabric, node); }));
  return result;
}

std::vector<double> members(const Level& at) {
  std::vector<double> count(at.domains, 0.0);
  for (const std::size_t domain : at.domain) count[domain] += 1.0;
  return count;
}

}  // namespace

std::int64_t leaf_of(const Fabric& fabric, std::int64_t node) {
  return has_leaves(fabric) ? node / fabric.nodes_per_leaf : 0;
}

std::int64_t pod_of(const Fabric& fabric, std::int64_t node) {
  return fabric.kind == FabricKind::fat_tree_3 ? leaf_of(fabric, node) / fabric.leaves_per_pod : 0;
}

double stream_limit(const Fabric& fabric, const std::vector<std::int64_t>& nodes, const Streams& streams) {
  double limit = kUnlimited;
  for (const Level& at : levels(fabric, nodes)) {
    std::vector<double> crossings(at.domains, 0.0);
    for (const auto& [from, to] : streams) {
      const std::size_t a = at.domain[static_cast<std::size_t>(from)], b = at.domain[static_cast<std::size_t>(to)];
      if (a != b) crossings[a] += 1.0;
    }
    const std::vector<double> count = members(at);
    for (std::size_t d = 0; d < at.domains; ++d)
      if (crossings[d] > 0.0) limit = std::min(limit, count[d] / (at.oversubscription * crossings[d]));
  }
  return limit;
}

double exchange_limit(const Fabric& fabric, const std::vector<std::int64_t>& nodes) {
  double limit = kUnlimited;
  const auto total = static_cast<double>(nodes.size());
  for (const Level& at : levels(fabric, nodes))
    for (const double count : members(at))
      if (count > 0.0 && count < total)
        // Of what a machine sends to the others, (total - count) / (total - 1) leaves the domain.
        limit = std::min(limit, (total - 1.0) / ((total - count) * at.oversubscription));
  return limit;
}

std::vector<std::string> switches_between(const Fabric& fabric, std::int64_t from_node, int from_nic,
                                          std::int64_t to_node, int to_nic) {
  const std::int64_t a = leaf_of(fabric, from_node), b = leaf_of(fabric, to_node);
  switch (fabric.kind) {
    case FabricKind::none: return {};
    case FabricKind::one_switch: return {"switch"};
    case FabricKind::fat_tree_2:
      if (a == b) return {fmt::format("leaf{}", a)};
      return {fmt::format("leaf{}", a), "spine", fmt::format("leaf{}", b)};
    case FabricKind::fat_tree_3: {
      if (a == b) return {fmt::format("leaf{}", a)};
      const std::int64_t p = pod_of(fabric, from_node), q = pod_of(fabric, to_node);
      if (p == q) return {fmt::format("leaf{}", a), fmt::format("pod{}/spine", p), fmt::format("leaf{}", b)};
      return {fmt::format("leaf{}", a), fmt::format("pod{}/spine", p), "core", fmt::format("pod{}/spine", q),
              fmt::format("leaf{}", b)};
    }
    case FabricKind::rail_optimised: {
      const std::string first = fmt::format("group{}/rail{}", a, from_nic), last = fmt::format("group{}/rail{}", b, to_nic);
      if (first == last) return {first};
      return {first, "spine", last};
    }
  }
  return {};
}

}  // namespace orrery::sim
