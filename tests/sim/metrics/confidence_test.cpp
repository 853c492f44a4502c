// The interval rule on parts made by hand, and what the parts of a real prediction sum to.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/metrics/confidence.h"
#include "sim/metrics/predict.h"
#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

UncertainPart part(double share, double low, double high) {
  UncertainPart p;
  p.share = share;
  p.log_low = low;
  p.log_high = high;
  return p;
}

TEST(IntervalOf, OnePartScalesByItsShare) {
  const Interval i = interval_of(10.0, {part(0.5, -0.2, 0.4)});
  EXPECT_DOUBLE_EQ(i.low, 10.0 * std::exp(-0.1));
  EXPECT_DOUBLE_EQ(i.high, 10.0 * std::exp(0.2));
}

TEST(IntervalOf, PartsAddInQuadrature) {
  const Interval i = interval_of(1.0, {part(1.0, -0.3, 0.3), part(1.0, -0.4, 0.4)});
  EXPECT_NEAR(std::log(i.high), 0.5, 1e-12);
  EXPECT_NEAR(std::log(i.low), -0.5, 1e-12);
}

TEST(IntervalOf, NothingUncertainIsExact) {
  const Interval i = interval_of(3.0, {});
  EXPECT_EQ(i.low, 3.0);
  EXPECT_EQ(i.high, 3.0);
}

TEST(Confidence, SharesOfThePartsSumToTheStep) {
  testing::Gpt g;
  g.gpus = 8;
  g.tp = 2;
  g.pp = 2;
  g.global_batch = 16;
  const Result r = predict(testing::gpt(g)).result;
  double shares = 0.0;
  for (const UncertainPart& p : r.parts) {
    EXPECT_LE(p.log_low, 0.0) << p.name;
    EXPECT_GE(p.log_high, 0.0) << p.name;
    EXPECT_FALSE(p.source.empty()) << p.name;
    shares += p.share;
  }
  EXPECT_NEAR(shares, 2.0, 1e-9);  // the whole step once by kinds, and once as one run against another
  EXPECT_NEAR(r.measured_fraction + r.interpolated_fraction + r.modelled_fraction, 1.0, 1e-9);
  EXPECT_LT(r.step_time_s.low, r.step_time_s.value);
  EXPECT_GT(r.step_time_s.high, r.step_time_s.value);
}

// A GPU type whose fits were transferred from another has a wider interval.
TEST(Confidence, TransferredFitsAreLessSure) {
  const auto width = [](const char* gpu) {
    const Result r = predict(testing::written(fmt::format(R"({{ "model": "models/zoo/gpt2-124m.json",
  "cluster": {{ "base": "hardware/clusters/a100-80g-1gpu.json", "gpu": "hardware/gpus/{}.json" }},
  "training": {{ "global_batch": 8, "micro_batch": 8, "sequence_length": 1024 }} }})",
                                                          gpu)))
                         .result;
    return std::log(r.step_time_s.high / r.step_time_s.low);
  };
  EXPECT_LT(width("a100-sxm4-80gb"), width("a100-sxm4-40gb"));
}

}  // namespace
}  // namespace orrery::sim
