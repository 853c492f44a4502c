#include "runtime/calibrate/variations.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/zoo_reader.h"

namespace orrery::runtime {
namespace {

using models::Architecture;
using scenarios::Scenario;

std::string set_model(const Architecture& a) { return "model=" + models::write_architecture(a); }

std::vector<std::string> set_batch(std::int64_t micro_batch, std::int64_t microbatches, std::int64_t dp) {
  return {fmt::format("training.micro_batch={}", micro_batch),
          fmt::format("training.global_batch={}", micro_batch * microbatches * dp)};
}

// An even number that is halved, or anything doubled; 0 where it cannot be.
std::int64_t scaled(std::int64_t value, bool doubled) {
  return doubled ? 2 * value : value % 2 == 0 ? value / 2 : 0;
}

class Variations {
 public:
  explicit Variations(const Scenario& scenario) : s_(scenario) {}

  std::vector<Variation> all() {
    for (const bool doubled : {true, false}) width(doubled);
    for (const bool doubled : {true, false}) length(doubled);
    plans();
    for (const bool doubled : {true, false}) batch(doubled);
    for (const bool doubled : {true, false}) heads(doubled);
    return std::move(all_);
  }

 private:
  static const char* word(bool doubled) { return doubled ? "x 2" : "/ 2"; }

  void add(std::string name, std::vector<std::string> sets) {
    all_.push_back({std::move(name), std::move(sets)});
  }

  void width(bool doubled) {
    Architecture a = s_.model;
    for (std::int64_t* size : {&a.hidden, &a.heads, &a.ffn_hidden}) *size = scaled(*size, doubled);
    if (a.kv_heads > 1) a.kv_heads = scaled(a.kv_heads, doubled);
    if (a.hidden * a.heads * a.ffn_hidden * a.kv_heads == 0 || a.heads % a.kv_heads != 0) return;
    add(fmt::format("hidden {}", word(doubled)), {set_model(a)});
  }

  void length(bool doubled) {
    const std::int64_t sequence = scaled(s_.training.sequence_length, doubled);
    if (sequence < 2) return;
    Architecture a = s_.model;
    if (a.position == models::PositionKind::learned) a.max_positions = std::max(a.max_positions, sequence);
    add(fmt::format("sequence {}", word(doubled)),
        {set_model(a), fmt::format("training.sequence_length={}", sequence)});
  }

  void batch(bool doubled) {
    const std::int64_t micro_batch = scaled(s_.training.micro_batch, doubled);
    if (micro_batch < 1) return;
    add(fmt::format("batch {}", word(doubled)),
        set_batch(micro_batch, s_.training.microbatches, s_.parallel.dp));
  }

  // The width stays.
  void heads(bool more) {
    Architecture a = s_.model;
    a.heads = scaled(a.heads, more);
    a.kv_heads = a.kv_heads > 1 ? scaled(a.kv_heads, more) : 1;
    a.head_dim = scaled(a.head_dim, !more);
    if (a.heads * a.kv_heads * a.head_dim == 0 || a.head_dim % 2 != 0 || a.heads % a.kv_heads != 0) return;
    add(fmt::format("heads {}", word(more)), {set_model(a)});
  }

  struct Plan {
    std::int64_t tp = 1, pp = 1, dp = 1;
    int zero = 0;
    bool sp = false;
  };
  void plan(const Plan& p) {
    if (p.tp * p.pp * p.dp != s_.parallel.world()) return;
    std::string name, value = fmt::format(R"({{"tp": {}, "pp": {}, "dp": {})", p.tp, p.pp, p.dp);
    if (p.zero > 0) value += fmt::format(R"(, "zero": {})", p.zero);
    if (p.sp) value += R"(, "sp": true)";
    for (const auto& [axis, size] : {std::pair{"tp", p.tp}, std::pair{"pp", p.pp}, std::pair{"dp", p.dp}})
      if (size > 1) name += fmt::format("{}{}{}", name.empty() ? "" : " ", axis, size);
    if (p.zero > 0) name += fmt::format(" zero{}", p.zero);
    if (p.sp) name += " sp";
    std::vector<std::string> sets = set_batch(s_.training.micro_batch, s_.training.microbatches, p.dp);
    sets.insert(sets.begin(), "parallel=" + value + "}");
    add(name, std::move(sets));
  }

  void plans() {
    const std::int64_t world = s_.parallel.world();
    if (world == 1) return;
    for (const int zero : {0, 1, 3}) plan({.dp = world, .zero = zero});
    for (const bool sp : {false, true}) plan({.tp = world, .sp = sp});
    plan({.pp = world});
    if (world < 4 || world % 2 != 0) return;
    plan({.tp = 2, .dp = world / 2});
    plan({.tp = 2, .pp = world / 2});
    plan({.pp = 2, .dp = world / 2});
  }

  const Scenario& s_;
  std::vector<Variation> all_;
};

}  // namespace

std::vector<Variation> variations_of(const Scenario& scenario) { return Variations(scenario).all(); }

Variation shorter(const Scenario& scenario, std::int64_t layers, std::int64_t microbatches) {
  Architecture a = scenario.model;
  a.layers = layers;
  Variation v{fmt::format("{} layers, {} microbatches", layers, microbatches), {set_model(a)}};
  for (std::string& set : set_batch(scenario.training.micro_batch, microbatches, scenario.parallel.dp))
    v.sets.push_back(std::move(set));
  return v;
}

}  // namespace orrery::runtime
