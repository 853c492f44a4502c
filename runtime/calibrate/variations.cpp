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

struct Factor {
  std::int64_t times = 1, by = 1;
  std::string word() const {
    return by == 1      ? fmt::format("x {}", times)
           : times == 1 ? fmt::format("/ {}", by)
                        : fmt::format("x {}/{}", times, by);
  }
};
constexpr Factor kDouble{2, 1}, kHalf{1, 2}, kHalfMore{3, 2};

// 0 where it does not divide.
std::int64_t scaled(std::int64_t value, Factor f) {
  return value * f.times % f.by == 0 ? value * f.times / f.by : 0;
}

class Variations {
 public:
  explicit Variations(const Scenario& scenario) : s_(scenario) {}

  std::vector<Variation> all() {
    for (const Factor f : {kDouble, kHalf}) width(f);
    for (const Factor f : {kDouble, kHalf}) length(f);
    plans();
    length(kHalfMore);
    for (const Factor f : {kDouble, kHalf}) batch(f);
    for (const Factor f : {kDouble, kHalf}) heads(f);
    return std::move(all_);
  }

 private:
  void add(std::string name, std::vector<std::string> sets) {
    all_.push_back({std::move(name), std::move(sets)});
  }

  void width(Factor f) {
    Architecture a = s_.model;
    for (std::int64_t* size : {&a.hidden, &a.heads, &a.ffn_hidden}) *size = scaled(*size, f);
    if (a.kv_heads > 1) a.kv_heads = scaled(a.kv_heads, f);
    if (a.hidden * a.heads * a.ffn_hidden * a.kv_heads == 0 || a.heads % a.kv_heads != 0) return;
    add("hidden " + f.word(), {set_model(a)});
  }

  void length(Factor f) {
    const std::int64_t sequence = scaled(s_.training.sequence_length, f);
    if (sequence < 2) return;
    Architecture a = s_.model;
    if (a.position == models::PositionKind::learned) a.max_positions = std::max(a.max_positions, sequence);
    add("sequence " + f.word(), {set_model(a), fmt::format("training.sequence_length={}", sequence)});
  }

  void batch(Factor f) {
    const std::int64_t micro_batch = scaled(s_.training.micro_batch, f);
    if (micro_batch < 1) return;
    add("batch " + f.word(), set_batch(micro_batch, s_.training.microbatches, s_.parallel.dp));
  }

  // The width stays.
  void heads(Factor f) {
    Architecture a = s_.model;
    a.heads = scaled(a.heads, f);
    a.kv_heads = a.kv_heads > 1 ? scaled(a.kv_heads, f) : 1;
    a.head_dim = scaled(a.head_dim, {f.by, f.times});
    if (a.heads * a.kv_heads * a.head_dim == 0 || a.head_dim % 2 != 0 || a.heads % a.kv_heads != 0) return;
    add("heads " + f.word(), {set_model(a)});
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
