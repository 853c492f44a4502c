#include "sim/network/select.h"

#include <vector>

#include "sim/network/nvls.h"
#include "sim/network/ring.h"
#include "sim/network/tree.h"

namespace orrery::sim {
namespace {

using scenarios::Algorithm;
using scenarios::Protocol;

void append(std::vector<Estimate>& found, const std::optional<Estimate>& estimate) {
  if (estimate) found.push_back(*estimate);
}

std::vector<Estimate> all_estimates(const CollectiveCall& call) {
  std::vector<Estimate> found;
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    append(found, ring_estimate(call, protocol));
    append(found, tree_estimate(call, protocol));
  }
  append(found, nvls_estimate(call));
  append(found, nvls_tree_estimate(call));
  return found;
}

}  // namespace

Choice choose(CollectiveCall call, const scenarios::Network& wanted) {
  call.ll128_forced = wanted.protocol == Protocol::ll128;
  const std::vector<Estimate> found = all_estimates(call);
  const auto best = [&](bool keep_algorithm, bool keep_protocol) {
    const Estimate* least = nullptr;
    for (const Estimate& estimate : found) {
      if (keep_algorithm && wanted.algorithm != Algorithm::automatic &&
          estimate.algorithm != wanted.algorithm)
        continue;
      if (keep_protocol && wanted.protocol != Protocol::automatic && estimate.protocol != wanted.protocol)
        continue;
      if (least == nullptr || estimate.choice_us < least->choice_us) least = &estimate;
    }
    return least;
  };
  if (const Estimate* estimate = best(true, true)) return {*estimate, false};
  if (const Estimate* estimate = best(true, false)) return {*estimate, true};
  if (const Estimate* estimate = best(false, true)) return {*estimate, true};
  const Estimate* estimate = best(false, false);
  CHECK(estimate != nullptr, schedule::name(call.kind));
  return {*estimate, true};
}

const char* name(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::automatic:
      return "automatic";
    case Algorithm::ring:
      return "ring";
    case Algorithm::tree:
      return "tree";
    case Algorithm::nvls:
      return "NVLS";
    case Algorithm::nvls_tree:
      return "NVLS-tree";
  }
  return "?";
}

const char* name(Protocol protocol) {
  switch (protocol) {
    case Protocol::automatic:
      return "automatic";
    case Protocol::ll:
      return "LL";
    case Protocol::ll128:
      return "LL128";
    case Protocol::simple:
      return "Simple";
  }
  return "?";
}

}  // namespace orrery::sim
