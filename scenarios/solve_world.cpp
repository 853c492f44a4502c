// How the GPUs are divided: world = tp x cp x pp x dp. `dp: "auto"` is solved; everything else must agree. Within a stage the
// tp x cp x dp ranks are re-cut for experts as etp x ep x edp, and edp is solved.
#include <numeric>

#include <fmt/format.h>

#include "scenarios/divisors.h"
#include "scenarios/solve.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

std::string cluster_text(const hardware::Cluster& c) {
  return fmt::format("{} GPUs ({} x {})", c.gpus(), c.nodes, c.node.gpus);
}

// Numbers of nodes around the present one for which tp x pp divides the GPUs.
std::string node_hint(const hardware::Cluster& c, std::int64_t ways) {
  if (c.graph) return "";
  const std::int64_t step = ways / std::gcd(ways, std::int64_t{c.node.gpus});
  return fmt::format(", or a cluster of {} nodes", alternatives(nearest_multiples(c.nodes, step)));
}

// Of the divisors of `n`, those that the model can be cut by; all of them where it cannot be cut by any.
std::vector<std::int64_t> sensible(std::int64_t n, std::int64_t (*remainder)(const models::Architecture&, std::int64_t),
                                   const models::Architecture& a) {
  std::vector<std::int64_t> all = divisors(n), good;
  for (const std::int64_t value : all)
    if (remainder(a, value) == 0) good.push_back(value);
  return good.empty() ? all : good;
}
std::int64_t heads_left(const models::Architecture& a, std::int64_t tp) { return a.heads % tp + a.kv_heads % tp; }
std::int64_t layers_left(const models::Architecture& a, std::int64_t pp) { return a.layers % pp; }

void report_indivisible(const Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const hardware::Cluster& c = d.scenario.cluster;
  const models::Architecture& a = d.scenario.model;
  const std::int64_t world = c.gpus();
  std::string hint;
  if (world % p.pp == 0)
    hint = fmt::format("use tp {}", alternatives(nearest(sensible(world / p.pp, heads_left, a), p.tp)));
  if (world % p.tp == 0 && heads_left(a, p.tp) == 0)
    hint += fmt::format("{}pp {}", hint.empty() ? "use " : ", or ",
                        alternatives(nearest(sensible(world / p.tp, layers_left, a), p.pp)));
  if (hint.empty()) {  // neither alone helps
    const std::int64_t tp = nearest(sensible(world, heads_left, a), p.tp).front();
    hint = fmt::format("use tp {} with pp {}", tp, alternatives(nearest(sensible(world / tp, layers_left, a), p.pp)));
  }
  diagnostics.error(d.written("parallel.pp") && world % p.tp == 0 ? d.at("parallel.pp") : d.at("parallel.tp"),
                    fmt::format("tp={} x pp={} = {} does not divide the cluster's {}", p.tp, p.pp,
                                p.tp * p.pp, cluster_text(c)),
                    hint + node_hint(c, p.tp * p.pp));
}

// cp divides what tp and pp leave, or there is no dp.
bool context_divides(const Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t left = d.scenario.cluster.gpus() / (p.tp * p.pp);
  if (left % p.cp == 0) return true;
  diagnostics.error(d.at("parallel.cp"),
                    fmt::format("cp={} does not divide the {} ranks that tp={} x pp={} leave of the cluster's {}", p.cp, left,
                                p.tp, p.pp, cluster_text(d.scenario.cluster)),
                    fmt::format("use cp {}", alternatives(nearest(divisors(left), p.cp))));
  return false;
}

bool experts_divide(const Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t stage = p.tp * p.cp * p.dp;
  if (stage % (p.etp * p.ep) == 0) return true;
  const bool by_ep = d.written("parallel.ep") && stage % p.etp == 0;
  diagnostics.error(d.at(by_ep ? "parallel.ep" : "parallel.etp"),
                    fmt::format("etp={} x ep={} does not divide the {} ranks of a stage (tp x cp x dp)", p.etp, p.ep, stage),
                    by_ep ? fmt::format("use ep {}", alternatives(nearest(divisors(stage / p.etp), p.ep)))
                          : fmt::format("use etp {}", alternatives(nearest(divisors(stage), p.etp))));
  return false;
}

std::string ways_text(const Parallel& p, std::int64_t dp) {
  const std::string context = p.cp > 1 ? fmt::format(" x cp={}", p.cp) : "";
  return fmt::format("tp={}{} x pp={} x dp={}", p.tp, context, p.pp, dp);
}

}  // namespace

void solve_world(Draft& d, Diagnostics& diagnostics) {
  Parallel& p = d.scenario.parallel;
  const hardware::Cluster& c = d.scenario.cluster;
  const std::int64_t world = c.gpus();
  if (world % (p.tp * p.pp) != 0) return report_indivisible(d, diagnostics);
  if (!context_divides(d, diagnostics)) return;
  const std::int64_t ways = p.tp * p.pp * p.cp;
  const std::int64_t fits = world / ways;
  if (d.dp && *d.dp != fits) {
    const std::string nodes = c.graph || (ways * *d.dp) % c.node.gpus != 0
                                  ? ""
                                  : fmt::format(", or a cluster of {} nodes", ways * *d.dp / c.node.gpus);
    diagnostics.error(d.at("parallel.dp"),
                      fmt::format("{} is {} ranks, but the cluster has {}", ways_text(p, *d.dp), ways * *d.dp,
                                  cluster_text(c)),
                      fmt::format("use dp {} or \"auto\"{}", fits, nodes));
    return;
  }
  p.dp = fits;
  d.known |= kDpKnown;
  if (experts_divide(d, diagnostics)) place_ranks(p, d.order);
}

}  // namespace orrery::scenarios
