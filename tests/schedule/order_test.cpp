// What verify says of the order of forward, backward and weight gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "schedule/text.h"
#include "schedule/verify.h"

namespace orrery::schedule {
namespace {

using testing::HasSubstr;

std::string findings_of(const std::string& text) {
  Diagnostics diagnostics;
  const Schedule s = parse(std::make_shared<const SourceFile>(SourceFile{"test.schedule", text}), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.text();
  std::string found;
  for (const Finding& f : verify(s)) found += f.message + "\n";
  return found;
}

std::string forward_backward(const std::string& calls) {
  return R"(microbatches 3
program p {
  buffer x bf16[16] persistent
  buffer w bf16[16] persistent
  block F forward {
    gemm(m=4 n=4 k=4) x:x w:w y=x
  }
  block B backward {
    gemm(m=4 n=4 k=4 layout=nn) dy:x w:w dx=x
  }
)" + calls +
         "}\n";
}

TEST(Order, ForwardThenBackwardOfEveryMicrobatch) {
  EXPECT_EQ(findings_of(forward_backward("repeat 3 {\ncall F step 1\ncall B step 1\n}\n")), "");
  EXPECT_THAT(findings_of(forward_backward("call F\ncall B\ncall B microbatch 1\ncall F microbatch 1\n")),
              HasSubstr("unit 0 runs microbatch 1 backward before forward"));
  EXPECT_THAT(findings_of(forward_backward("call F\ncall F microbatch 1\ncall B\n")),
              HasSubstr("unit 0 runs microbatch 1 forward but never backward"));
  EXPECT_THAT(findings_of(forward_backward("call F\ncall B\ncall B microbatch 2\n")),
              HasSubstr("unit 0 runs microbatch 2 backward but never forward"));
  EXPECT_THAT(findings_of(forward_backward("call F\ncall B\n")), HasSubstr("runs 1 of 3 microbatches"));
}

// The backward in two parts: the input's gradient (B), then the weights' (W), of every microbatch.
TEST(Order, WeightGradientsApartFollowTheirBackward) {
  const auto split = [](const std::string& calls) {
    return findings_of(forward_backward(R"(block W weight_gradient {
    gemm(m=4 n=4 k=4 layout=nt) dy:x x:w dw+=w
  }
)" + calls));
  };
  EXPECT_EQ(split("repeat 3 {\ncall F step 1\ncall B step 1\n}\nrepeat 3 {\ncall W step 1\n}\n"), "");
  EXPECT_THAT(split("call F\ncall W\ncall B\n"), HasSubstr("unit 0 runs microbatch 0's weight gradients before its backward"));
  EXPECT_THAT(split("call F\ncall B\ncall W\ncall F microbatch 1\ncall B microbatch 1\n"),
              HasSubstr("unit 0 runs microbatch 1 backward but its weight gradients never"));
}

}  // namespace
}  // namespace orrery::schedule
