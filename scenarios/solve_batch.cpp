// The batch equation: global_batch = micro_batch x accumulation x dp. Any one of the three is solved from the
// other two; all three must agree. A refusal states the equation, the product, and the nearest legal value of
// each term.
#include <fmt/format.h>

#include "scenarios/divisors.h"
#include "scenarios/solve.h"
#include "scenarios/words.h"

namespace orrery::scenarios {
namespace {

constexpr const char* kEquation = "global_batch = micro_batch x accumulation x dp";
constexpr std::int64_t kMicrobatchesMax = 1'000'000;

// dp values for which the equation holds with this global batch and `per_replica` sequences a replica at a
// time.
std::string dp_hint(const Draft& d, std::int64_t per_replica) {
  const Parallel& p = d.scenario.parallel;
  if (*d.global_batch % per_replica != 0) return "";
  const std::vector<std::int64_t> dps = nearest(divisors(*d.global_batch / per_replica), p.dp);
  std::vector<std::int64_t> gpus;
  gpus.reserve(dps.size());
  for (const std::int64_t dp : dps) gpus.push_back(dp * p.tp * p.pp);
  return fmt::format(", or dp {} ({} GPUs)", alternatives(dps), alternatives(gpus));
}

// `term` alone may change: the values of it for which `product` x term divides the global batch.
std::string term_hint(const Draft& d, const char* term, std::int64_t value, std::int64_t product) {
  if (*d.global_batch % product != 0) return "";
  return fmt::format(", or {} {}", term, alternatives(nearest(divisors(*d.global_batch / product), value)));
}

void report_indivisible(const Draft& d, const char* term, std::int64_t value, Diagnostics& diagnostics) {
  const std::int64_t dp = d.scenario.parallel.dp;
  const std::int64_t product = value * dp;
  diagnostics.error(
      d.at("training.global_batch"),
      fmt::format("global_batch={} is not a multiple of {} {} x dp {} = {} ({})", *d.global_batch, term,
                  value, dp, product, kEquation),
      fmt::format("use global_batch {}", alternatives(nearest_multiples(*d.global_batch, product))) +
          term_hint(d, term, value, dp) + dp_hint(d, value));
}

void report_contradiction(const Draft& d, Diagnostics& diagnostics) {
  const std::int64_t g = *d.global_batch, b = *d.micro_batch, m = *d.accumulation,
                     dp = d.scenario.parallel.dp;
  std::string hint = fmt::format("use global_batch {}", b * m * dp);
  if (g % (b * dp) == 0) hint += fmt::format(", or accumulation {}", g / (b * dp));
  if (g % (m * dp) == 0) hint += fmt::format(", or micro_batch {}", g / (m * dp));
  if (g % (b * m) == 0)
    hint += fmt::format(", or dp {} ({} GPUs)", g / (b * m),
                        g / (b * m) * d.scenario.parallel.tp * d.scenario.parallel.pp);
  diagnostics.error(d.at("training.global_batch"),
                    fmt::format("global_batch={}, but micro_batch {} x accumulation {} x dp {} = {} ({})", g,
                                b, m, dp, b * m * dp, kEquation),
                    hint + ", or leave accumulation out: it is solved");
}

void report_missing(const Draft& d, Diagnostics& diagnostics) {
  std::string hint = "state two of global_batch, micro_batch and accumulation";
  const std::int64_t dp = d.scenario.parallel.dp;
  if (d.global_batch && *d.global_batch % dp == 0)
    hint += fmt::format("; micro_batch can be a divisor of {}", *d.global_batch / dp);
  diagnostics.error(d.at("training"), fmt::format("the batch is not determined: {}", kEquation), hint);
}

// The largest product of two terms and dp is 1e6 x 1e6 x 1e6: beyond int64, so it is checked before it is
// formed.
bool product_too_large(const Draft& d, Diagnostics& diagnostics) {
  const __int128 product =
      static_cast<__int128>(d.micro_batch.value_or(1)) * d.accumulation.value_or(1) * d.scenario.parallel.dp;
  if (product <= 1'000'000'000'000) return false;
  diagnostics.error(
      d.at("training.micro_batch"),
      fmt::format("micro_batch {} x accumulation {} x dp {} is more than 10^12 sequences",
                  d.micro_batch.value_or(1), d.accumulation.value_or(1), d.scenario.parallel.dp),
      kEquation);
  return true;
}

}  // namespace

void solve_batch(Draft& d, Diagnostics& diagnostics) {
  const std::int64_t dp = d.scenario.parallel.dp;
  const int stated =
      int{d.global_batch.has_value()} + int{d.micro_batch.has_value()} + int{d.accumulation.has_value()};
  if (stated < 2) return report_missing(d, diagnostics);
  if (product_too_large(d, diagnostics)) return;
  Training& t = d.scenario.training;
  if (!d.global_batch) {
    t.micro_batch = *d.micro_batch;
    t.microbatches = *d.accumulation;
  } else if (d.micro_batch && d.accumulation) {
    if (*d.global_batch != *d.micro_batch * *d.accumulation * dp) return report_contradiction(d, diagnostics);
    t.micro_batch = *d.micro_batch;
    t.microbatches = *d.accumulation;
  } else if (d.micro_batch) {
    if (*d.global_batch % (*d.micro_batch * dp) != 0)
      return report_indivisible(d, "micro_batch", *d.micro_batch, diagnostics);
    t.micro_batch = *d.micro_batch;
    t.microbatches = *d.global_batch / (*d.micro_batch * dp);
  } else {
    if (*d.global_batch % (*d.accumulation * dp) != 0)
      return report_indivisible(d, "accumulation", *d.accumulation, diagnostics);
    t.microbatches = *d.accumulation;
    t.micro_batch = *d.global_batch / (*d.accumulation * dp);
  }
  t.global_batch = t.micro_batch * t.microbatches * dp;
  if (t.microbatches > kMicrobatchesMax)
    diagnostics.error(d.at("training.micro_batch"),
                      fmt::format("{} microbatches a step are too many", t.microbatches),
                      fmt::format("at most {}: raise micro_batch or lower global_batch", kMicrobatchesMax));
}

}  // namespace orrery::scenarios
