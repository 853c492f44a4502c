// Pipeline stages: how many chunks a rank holds (vpp), which schedule that needs, and how many layers each
// virtual stage gets. Nothing is rounded down: a split that would lose layers is refused with the splits that
// do not.
#include <numeric>

#include <fmt/format.h>

#include "scenarios/balance_stages.h"
#include "scenarios/divisors.h"
#include "scenarios/solve.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

constexpr std::int64_t kChunksMax = 127;

// vpp from Megatron's way of saying it, --num-layers-per-virtual-pipeline-stage.
std::int64_t chunks_from_layers(const Draft& d, Diagnostics& diagnostics) {
  const std::int64_t layers = d.scenario.model.layers, pp = d.scenario.parallel.pp,
                     each = *d.layers_per_virtual_stage;
  const Place place = d.at("parallel.layers_per_virtual_stage");
  if (layers % pp != 0) {
    diagnostics.error(d.at("parallel.pp"), fmt::format("{} layers do not divide over pp={}", layers, pp),
                      fmt::format("use pp {}", alternatives(nearest(divisors(layers), pp))));
    return 1;
  }
  const std::int64_t per_stage = layers / pp;
  if (per_stage % each == 0 && per_stage / each > kChunksMax) {
    diagnostics.error(place,
                      fmt::format("{} layers a virtual stage are {} chunks a rank", each, per_stage / each),
                      fmt::format("at most {} are supported", kChunksMax));
    return 1;
  }
  if (per_stage % each == 0) return per_stage / each;
  diagnostics.error(
      place,
      fmt::format("{} layers a virtual stage do not divide the {} layers of a stage ({} layers / pp {}): "
                  "{} layers would be lost",
                  each, per_stage, layers, pp, layers - per_stage / each * each * pp),
      fmt::format("use {}", alternatives(divisors(per_stage))));
  return 1;
}

std::int64_t chunks(const Draft& d, Diagnostics& diagnostics) {
  if (!d.layers_per_virtual_stage) return d.vpp.value_or(1);
  if (d.split != LayerSplit::even)
    diagnostics.error(d.at("parallel.layers_per_virtual_stage"),
                      "layers_per_virtual_stage and layers_per_stage both say how the layers are split",
                      "leave one of them out");
  const std::int64_t solved = chunks_from_layers(d, diagnostics);
  if (d.vpp && *d.vpp != solved)
    diagnostics.error(
        d.at("parallel.vpp"),
        fmt::format("vpp={}, but {} layers / pp {} / {} layers a virtual stage = {}", *d.vpp,
                    d.scenario.model.layers, d.scenario.parallel.pp, *d.layers_per_virtual_stage, solved),
        "leave one of them out");
  return solved;
}

// vpp > 1 for which an even split exists, for a hint.
std::string chunk_hint(const Draft& d) {
  const std::int64_t layers = d.scenario.model.layers, pp = d.scenario.parallel.pp;
  std::vector<std::int64_t> more;
  if (layers % pp == 0) more = divisors(layers / pp);
  std::erase(more, 1);
  return more.empty() ? "" : fmt::format("set vpp to {}, or ", alternatives(more));
}

// Virtual stages from an even split that counts `extra` items (embedding and head) beside the layers; empty
// when it is not even. The first and the last may then hold no layer at all, as Llama-3.1 405B's do.
std::vector<std::int64_t> even_split(std::int64_t layers, std::int64_t stages, std::int64_t extra) {
  if ((layers + extra) % stages != 0) return {};
  std::vector<std::int64_t> split(static_cast<std::size_t>(stages), (layers + extra) / stages);
  if (extra > 0) {
    split.front() -= 1;
    split.back() -= 1;
  }
  return split;
}

// pp values that split evenly with this vpp, of those that the GPUs allow.
std::vector<std::int64_t> legal_pp(const Draft& d, std::int64_t items) {
  const Parallel& p = d.scenario.parallel;
  std::vector<std::int64_t> all, fitting;
  for (const std::int64_t pp : divisors(items)) {
    if (items % (pp * p.vpp) != 0 || (p.vpp > 1 && pp == 1)) continue;
    all.push_back(pp);
    if (d.knows(kClusterKnown) && d.scenario.cluster.gpus() % (pp * p.tp) == 0) fitting.push_back(pp);
  }
  return fitting.empty() ? all : fitting;
}

void report_uneven(const Draft& d, Diagnostics& diagnostics) {
  const Parallel& p = d.scenario.parallel;
  const std::int64_t layers = d.scenario.model.layers, stages = p.pp * p.vpp;
  const std::int64_t extra = d.split == LayerSplit::even_with_embedding ? 2 : 0;
  std::vector<std::string> ways;
  const std::vector<std::int64_t> pps = nearest(legal_pp(d, layers + extra), p.pp);
  if (!pps.empty()) ways.push_back("pp " + alternatives(pps));
  if (p.vpp > 1 && (layers + extra) % p.pp == 0)
    ways.push_back("vpp " + alternatives(nearest(divisors((layers + extra) / p.pp), p.vpp)));
  if (extra == 0 && !even_split(layers, stages, 2).empty())
    ways.push_back("\"layers_per_stage\": \"even_with_embedding\" (embedding and head count as layers)");
  if (extra > 0 && !even_split(layers, stages, 0).empty()) ways.push_back("\"layers_per_stage\": \"even\"");
  ways.push_back("\"layers_per_stage\": \"balanced\"");
  ways.push_back(fmt::format("a list of {} numbers that add up to {} in layers_per_stage", stages, layers));
  const char* place = d.written("parallel.layers_per_stage") && extra > 0 ? "parallel.layers_per_stage"
                      : d.written("parallel.vpp") && p.vpp > 1 && layers % p.pp == 0 ? "parallel.vpp"
                                                                                     : "parallel.pp";
  diagnostics.error(d.at(place),
                    fmt::format("{} layers{} do not divide over pp={}{}: {} / {} leaves {}", layers,
                                extra > 0 ? " + embedding + head" : "", p.pp,
                                p.vpp > 1 ? fmt::format(" x vpp={} virtual stages", p.vpp) : " stages",
                                layers + extra, stages, (layers + extra) % stages),
                    "use " + alternatives(ways));
}

std::string fewer_stages_hint(const Draft& d) {
  const std::vector<std::int64_t> pps = nearest(legal_pp(d, d.scenario.model.layers), d.scenario.parallel.pp);
  return pps.empty() ? "set vpp to 1" : "use pp " + alternatives(pps);
}

void take_list(Draft& d, Diagnostics& diagnostics) {
  Parallel& p = d.scenario.parallel;
  const Place place = d.at("parallel.layers_per_stage");
  const auto entries = static_cast<std::int64_t>(d.layers_listed.size());
  const std::int64_t sum = std::accumulate(d.layers_listed.begin(), d.layers_listed.end(), std::int64_t{0});
  if (entries != p.pp * p.vpp)
    diagnostics.error(
        place,
        fmt::format("layers_per_stage has {} entries, but there are {} virtual stages (pp={} x vpp={})",
                    entries, p.pp * p.vpp, p.pp, p.vpp),
        "one number per virtual stage, in model order");
  if (sum != d.scenario.model.layers)
    diagnostics.error(place,
                      fmt::format("layers_per_stage adds up to {}, but the model has {} layers", sum,
                                  d.scenario.model.layers),
                      fmt::format("{} {}", sum < d.scenario.model.layers ? "add" : "remove",
                                  std::abs(d.scenario.model.layers - sum)));
  p.layers_of_stage = d.layers_listed;
}

// Stages of the middle need a layer each; the first and the last may be the embedding or the head alone.
void balance(Draft& d, Diagnostics& diagnostics) {
  Parallel& p = d.scenario.parallel;
  const std::int64_t layers = d.scenario.model.layers, stages = p.pp * p.vpp;
  if (stages - 2 > layers) {
    diagnostics.error(d.at("parallel.pp"),
                      fmt::format("pp={}{} is more stages than the model's {} layers can be balanced over", p.pp,
                                  p.vpp > 1 ? fmt::format(" x vpp={}", p.vpp) : "", layers),
                      fewer_stages_hint(d));
    return;
  }
  p.layers_of_stage =
      cheapest_cut(layers, stages, d.split == LayerSplit::balanced ? time_cost(d) : memory_cost(d));
}

}  // namespace

// A schedule that holds two chunks a rank says so by itself; one that holds several needs to be told how many.
void solve_chunks(Draft& d, Diagnostics& diagnostics) {
  Parallel& p = d.scenario.parallel;
  p.vpp = chunks(d, diagnostics);
  p.schedule = d.schedule.value_or(p.vpp > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b);
  const Chunks wanted = traits(p.schedule).chunks;
  const char* said = d.written("parallel.vpp") ? "parallel.vpp" : "parallel.layers_per_virtual_stage";
  const bool told = d.vpp.has_value() || d.layers_per_virtual_stage.has_value();
  if (wanted == Chunks::two && !told) p.vpp = 2;
  if (p.vpp > 1 && p.pp == 1)
    diagnostics.error(d.at(told ? said : "parallel.schedule"),
                      told ? fmt::format("vpp={} needs a pipeline, but pp is 1", p.vpp)
                           : fmt::format("schedule {} needs a pipeline, but pp is 1", word(p.schedule)),
                      told ? "set vpp to 1, or pp to 2 or more" : "set pp to 2 or more");
  else if (p.vpp > 1 && wanted == Chunks::one)
    diagnostics.error(d.at("parallel.schedule"),
                      fmt::format("schedule {} holds one chunk a rank, but vpp={}", word(p.schedule), p.vpp),
                      "use \"interleaved\", or set vpp to 1");
  else if (p.vpp != 2 && wanted == Chunks::two)
    diagnostics.error(d.at(said), fmt::format("schedule {} holds two chunks a rank, but vpp={}", word(p.schedule), p.vpp),
                      "leave it out, or set vpp to 2");
  if (p.vpp == 1 && wanted == Chunks::several)
    diagnostics.error(d.at("parallel.schedule"),
                      fmt::format("the {} schedule needs more than one chunk a rank, but vpp is 1", word(p.schedule)),
                      (p.pp > 1 ? chunk_hint(d) : "") + "use \"1f1b\"");
}

void split_layers(Draft& d, Diagnostics& diagnostics) {
  Parallel& p = d.scenario.parallel;
  const std::int64_t layers = d.scenario.model.layers;
  if (d.split == LayerSplit::listed) return take_list(d, diagnostics);
  if (d.split == LayerSplit::balanced || d.split == LayerSplit::balanced_memory) return balance(d, diagnostics);
  const std::int64_t extra = d.split == LayerSplit::even_with_embedding && p.pp * p.vpp > 1 ? 2 : 0;
  if (p.pp * p.vpp > layers + extra) {
    diagnostics.error(d.at("parallel.pp"),
                      fmt::format("pp={}{} is more stages than the model's {} layers{}", p.pp,
                                  p.vpp > 1 ? fmt::format(" x vpp={}", p.vpp) : "", layers,
                                  extra > 0 ? ", embedding and head" : ""),
                      fewer_stages_hint(d));
    return;
  }
  p.layers_of_stage = even_split(layers, p.pp * p.vpp, extra);
  if (p.layers_of_stage.empty()) report_uneven(d, diagnostics);
}

}  // namespace orrery::scenarios
