// How long a transfer takes when it has its links to itself, and how much of which link it uses. A seam: alpha-beta
// (alpha_beta.h: endpoints are shared, the fabric is not) is one implementation, a flow model another.
//
// Resources are what transfers share: each GPU's NVLink ports (out, in) or PCIe slot, each NIC (out, in); on a CPU machine
// its cores, which kernels take too. A member of a transfer loads only its own endpoints, each with a weight: the share
// of that endpoint's capacity it needs at full speed, in 1/65536.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"
#include "scenarios/scenario.h"
#include "schedule/op.h"
#include "sim/cost/origin.h"

namespace orrery::sim {

inline constexpr std::uint32_t kFullLoad = 65536;

struct Load {
  std::uint32_t resource = 0;
  std::uint32_t weight = 0;
};

struct TransferPlan {
  Duration time;                     // latency + bytes / bandwidth, undisturbed
  Duration latency;                  // the part that does not depend on the size
  scenarios::Algorithm algorithm = scenarios::Algorithm::ring;
  scenarios::Protocol protocol = scenarios::Protocol::simple;
  bool crosses_nodes = false;
  double algorithm_bandwidth = 0.0;  // bytes / time, B/s
  double bus_bandwidth = 0.0;        // as nccl-tests defines it
  std::int32_t sms = 0;              // SMs that the communication kernel occupies on each member
  std::uint32_t port_weight = 0;     // load on each member's NVLink ports (or PCIe slot, see port_is_pcie)
  std::uint32_t pcie_weight = 0;     // load on each member's PCIe slot by what goes through its NIC
  bool port_is_pcie = false;         // the members of a machine meet over PCIe
  std::uint32_t nic_weight = 0;      // load of one member on each of its NICs, where it crosses nodes
  std::uint32_t core_weight = 0;     // of one core of its machine, what each member keeps busy
  Origin origin = Origin::modelled;
  double log_low = 0.0, log_high = 0.0;  // 80 % interval, as in KernelTime
  std::string explanation;           // "ring, simple, 24 channels, 8 x 25 GB/s NIC ..." for --explain and `cluster`
};

// The cores of one machine as a resource; a kernel that runs takes one of them.
struct Cores {
  std::uint32_t resource = 0;
  std::uint32_t count = 0;
  // Rounded down: as many kernels as cores fit.
  std::uint32_t weight() const { return kFullLoad / count; }
};

// Rows of tokens to their experts or back, a token once to each machine (token_exchange.h): `choices` rows a token, of
// `experts`, in the best `top_groups` of `groups`.
struct TokenExchange {
  std::int64_t choices = 0, experts = 0;
  std::int32_t groups = 1, top_groups = 1;
};
inline TokenExchange token_exchange(const schedule::KernelShape& shape) {
  return {.choices = shape.k, .experts = shape.experts, .groups = shape.groups, .top_groups = shape.top_groups};
}

class NetworkModel {
 public:
  virtual ~NetworkModel() = default;
  // `bytes` as schedule::message_bytes counts them. `members`: global ranks in group order.
  virtual TransferPlan collective(schedule::OpKind kind, Bytes bytes, std::span<const std::int64_t> members) const = 0;
  virtual TransferPlan point_to_point(std::int64_t from, std::int64_t to, Bytes bytes) const = 0;
  // `bytes` as of an all_to_all of all rows, which it is where all members share a machine.
  virtual TransferPlan by_node(const TokenExchange& /*exchange*/, Bytes bytes, std::span<const std::int64_t> members) const {
    return collective(schedule::OpKind::all_to_all, bytes, members);
  }

  // Two lists of members with the same pattern get equal plans for every message. By default each list is a pattern of
  // its own; a model of a symmetric fabric answers with what the plan really depends on (which members share a node,
  // a leaf, a place in the node), and a plan is then made once for thousands of groups.
  virtual std::uint64_t pattern(std::span<const std::int64_t> members) const {
    std::uint64_t hash = members.size();
    for (const std::int64_t member : members) {
      hash = (hash ^ static_cast<std::uint64_t>(member)) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 29;
    }
    return hash;
  }

  virtual std::uint32_t resource_count() const = 0;
  virtual std::string resource_name(std::uint32_t resource) const = 0;
  // What this member of the transfer loads. Point to point: `sends` tells the direction; collectives load both. Depends
  // on the plan's weights, algorithm, protocol, port_is_pcie and crosses_nodes only. Plans of which the same weights
  // are not 0 load the same resources in the same order; with what weight does not depend on the rank.
  virtual void loads(const TransferPlan& plan, std::int64_t rank, bool sends, bool receives,
                     std::vector<Load>& out) const = 0;

  // The cores that this rank's kernels share with other ranks and with transfers; none: a rank has its device to itself.
  virtual std::optional<Cores> cores_of(std::int64_t /*rank*/) const { return std::nullopt; }
};

}  // namespace orrery::sim
