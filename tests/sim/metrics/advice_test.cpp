// Which findings are worth a warning: at the threshold not, just above it yes, each with what to try.
#include "sim/metrics/advice.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/sim/metrics/written_scenario.h"

namespace orrery::sim {
namespace {

Result busy() {
  Result r;
  r.step_time_s.value = 1.0;
  r.gpu_busy = 1.0;
  r.waterfall_s[static_cast<std::size_t>(Share::compute)] = 1.0;
  return r;
}

// What the warning that has `word` in it says to try; none: there is no such warning.
std::optional<std::string> hint_of(const std::vector<Diagnostic>& found, const std::string& word) {
  for (const Diagnostic& d : found)
    if (d.message.find(word) != std::string::npos) return d.hint;
  return std::nullopt;
}

bool silent_about(const std::vector<Diagnostic>& found, const std::string& word) {
  return !hint_of(found, word);
}

// It is said, and with something to try.
bool advises(const std::vector<Diagnostic>& found, const std::string& word) {
  return !hint_of(found, word).value_or("").empty();
}

TEST(TimeAdvice, ABusyRunNeedsNone) { EXPECT_TRUE(time_advice(testing::gpt({}), busy()).empty()); }

TEST(TimeAdvice, CommunicationAbove30Percent) {
  Result r = busy();
  r.communication_total = 0.30;
  EXPECT_TRUE(silent_about(time_advice(testing::gpt({}), r), "transfers"));
  r.communication_total = 0.31;
  EXPECT_TRUE(advises(time_advice(testing::gpt({}), r), "transfers run 31 %"));
}

TEST(TimeAdvice, TheLargestGroupIsNamed) {
  Result r = busy();
  r.communication_total = 0.5;
  r.communication_exposed = 0.4;
  r.exposed_by_group = {0.1, 0.3, 0.0, 0.0};
  EXPECT_TRUE(advises(time_advice(testing::gpt({}), r), "data-parallel"));
  r.exposed_by_group = {0.3, 0.1, 0.0, 0.0};
  EXPECT_TRUE(advises(time_advice(testing::gpt({}), r), "tensor-parallel"));
}

// ZeRO-2 reduces every microbatch's gradients: a larger batch of the same microbatches only adds to them.
TEST(TimeAdvice, GradientsOfZero2TravelOnceAMicrobatch) {
  Result r = busy();
  r.communication_total = 0.5;
  r.communication_exposed = 0.4;
  r.exposed_by_group = {0.1, 0.3, 0.0, 0.0};
  scenarios::Scenario s = testing::gpt({});
  const auto hint = [&](int zero) {
    s.parallel.zero = zero;
    return time_advice(s, r).front().hint;
  };
  EXPECT_NE(hint(2).find("larger micro_batch"), std::string::npos) << hint(2);
  EXPECT_EQ(hint(2).find("global_batch"), std::string::npos) << hint(2);
  EXPECT_NE(hint(1).find("larger global_batch"), std::string::npos) << hint(1);
}

TEST(TimeAdvice, GpusBusyBelow70Percent) {
  Result r = busy();
  r.gpu_busy = 0.70;
  EXPECT_TRUE(silent_about(time_advice(testing::gpt({}), r), "compute only"));
  r.gpu_busy = 0.69;
  r.bubble_fraction = 0.15;
  const std::vector<Diagnostic> found = time_advice(testing::gpt({}), r);
  ASSERT_TRUE(advises(found, "compute only 69 %"));
  EXPECT_NE(found.front().hint.find("bubble"), std::string::npos) << found.front().hint;
}

TEST(TimeAdvice, ALargeBubble) {
  Result r = busy();
  r.bubble_fraction = 0.21;
  EXPECT_TRUE(advises(time_advice(testing::gpt({}), r), "bubble is 21 %"));
}

TEST(TimeAdvice, TheHostIsTheBottleneck) {
  Result r = busy();
  r.waterfall_s[static_cast<std::size_t>(Share::host)] = 0.11;
  EXPECT_TRUE(advises(time_advice(testing::gpt({}), r), "issues kernels"));
  scenarios::Scenario offloaded = testing::gpt({});
  offloaded.offload.optimizer = scenarios::OffloadTarget::cpu;
  EXPECT_TRUE(advises(time_advice(offloaded, r), "runs the optimizer"));
}

TEST(TimeAdvice, Stragglers) {
  Result r = busy();
  r.waterfall_s[static_cast<std::size_t>(Share::wait)] = 0.2;
  EXPECT_TRUE(advises(time_advice(testing::gpt({}), r), "slower ranks"));
}

}  // namespace
}  // namespace orrery::sim
