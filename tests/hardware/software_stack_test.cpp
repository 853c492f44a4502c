// Stack files: the factors of the GPU's architecture, else those of the last one; mistakes at their places.
#include "hardware/software_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::hardware {
namespace {

using testing::HasSubstr;

SoftwareStack read(const std::string& text, const std::string& architecture, Diagnostics& diagnostics) {
  const Json json = parse_json(std::make_shared<SourceFile>(SourceFile{"stack.json", text}), diagnostics);
  Gpu gpu;
  gpu.architecture = architecture;
  return read_software_stack(json, gpu, diagnostics);
}

constexpr const char* kTwo = R"({"name": "n", "source": "s", "kernels": {
  "ampere": {"attention_backward": 2.5, "runs": 85}, "hopper": {"gemm": 1.1, "memory_bound": 0.5, "runs": 43}}})";

TEST(SoftwareStack, FactorsOfTheArchitecture) {
  Diagnostics diagnostics;
  const SoftwareStack ampere = read(kTwo, "ampere", diagnostics), hopper = read(kTwo, "hopper", diagnostics);
  EXPECT_EQ(ampere.longer, (std::array<double, kKernelClasses>{1.0, 1.0, 2.5, 1.0}));
  EXPECT_EQ(ampere.runs, 85);
  EXPECT_EQ(hopper.longer, (std::array<double, kKernelClasses>{1.1, 1.0, 1.0, 0.5}));
  EXPECT_EQ(read(kTwo, "blackwell", diagnostics).longer, hopper.longer);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.text();
}

TEST(SoftwareStack, MistakesAreReported) {
  const auto said = [](const std::string& text) {
    Diagnostics diagnostics;
    read(text, "ampere", diagnostics);
    return diagnostics.text();
  };
  EXPECT_THAT(said(R"({"name": "n", "source": "s", "kernels": {}})"), HasSubstr("an object for each architecture"));
  EXPECT_THAT(said(R"({"name": "n", "source": "s", "kernels": {"ampere": {"gemm": 0, "runs": 1}}})"), HasSubstr("gemm"));
  EXPECT_THAT(said(R"({"name": "n", "source": "s", "kernels": {"ampere": {"gem": 1, "runs": 1}}})"), HasSubstr("gemm"));
  EXPECT_THAT(said(R"({"name": "n", "kernels": {"ampere": {"runs": 1}}})"), HasSubstr("source"));
}

}  // namespace
}  // namespace orrery::hardware
