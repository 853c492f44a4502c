// Predictions beside measurements that the fits saw, and beside one that they did not: a whole layer. Skipped where the
// measurement data is not beside the source tree.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/json.h"
#include "sim/cost/gemm_model.h"
#include "sim/cost/memory_model.h"
#include "tests/sim/cost/gpus.h"

namespace orrery::sim {
namespace {

using hardware::KernelClass;

constexpr const char* kGemmTable = "../shared/data/kernels/gemm_other.json";

// Median of |ln(measured / predicted)| of one GPU's tensor-core products of training size.
double median_error(const Json& table, const std::string& gpu_name, const hardware::Gpu& gpu, Clock clock) {
  std::vector<double> residuals;
  for (const Json& row : table.items) {
    const auto integer = [&](const char* key) { return static_cast<double>(row.find(key)->integer); };
    if (row.find("gpu")->string != gpu_name || row.find("op")->string != "gemm") continue;
    const std::string& type = row.find("dtype")->string;
    if ((type != "fp16" && type != "bf16") || row.find("layout")->is_null()) continue;
    GemmCall call;
    call.m = integer("m");
    call.n = integer("n");
    call.k = integer("k");
    if (std::min({call.m, call.n, call.k}) < 128) continue;
    const Json* note = row.find("note");
    const bool accumulates = note != nullptr && note->string.find("accumulate=True") != std::string::npos;
    call.bytes = 2.0 * (call.m * call.k + call.k * call.n) + (accumulates ? 8.0 : 2.0) * call.m * call.n;
    const double predicted = gemm_seconds(call, half_precision(gpu), gpu.fit(KernelClass::gemm), clock);
    residuals.push_back(std::abs(std::log(row.find("time_us")->number * 1e-6 / predicted)));
  }
  EXPECT_GT(residuals.size(), 50U) << gpu_name;
  std::sort(residuals.begin(), residuals.end());
  return residuals[residuals.size() / 2];
}

TEST(MeasuredKernels, ProductsWithinTolerance) {
  if (!std::filesystem::exists(kGemmTable)) GTEST_SKIP() << "no " << kGemmTable;
  const Json table = read_json(kGemmTable);
  const hardware::Gpu pcie = gpu_named("a100-pcie-80gb"), sxm = gpu_named("a100-sxm4-80gb"),
                      h100 = gpu_named("h100-sxm5-80gb"), v100 = gpu_named("v100-sxm2-16gb");
  EXPECT_LT(median_error(table, "A100-PCIe-80GB", pcie, Clock::sustained), 0.05);
  EXPECT_LT(median_error(table, "V100", v100, Clock::alone), 0.08);
  // These two the fits never saw.
  EXPECT_LT(median_error(table, "A100-80GB(SXM/PCIe not stated)", sxm, Clock::sustained), 0.10);
  EXPECT_LT(median_error(table, "H100-SXM", h100, Clock::sustained), 0.12);
}

// One layer of the 22B GPT of Korthikanti et al. 2022, table 4: h 6144, s 2048, b 4, 64 heads, tensor parallel 8, A100,
// separate attention kernels, no recomputation. Measured with communication (no sequence parallelism): forward 7.7 ms,
// backward 11.9 ms. Kernels alone must be a large share of it and not more.
struct LayerTime {
  double forward = 0.0, backward = 0.0;
};

LayerTime layer_22b(const hardware::Gpu& gpu) {
  constexpr double h = 6144, s = 2048, b = 4, t = 8, heads = 64 / t, d = 96;
  const auto product = [&](double m, double n, double k, double batch, double result_bytes) {
    GemmCall call;
    call.m = m;
    call.n = n;
    call.k = k;
    call.batch = batch;
    call.bytes = batch * (2.0 * (m * k + k * n) + result_bytes * m * n);
    return gemm_seconds(call, half_precision(gpu), gpu.fit(KernelClass::gemm), Clock::sustained);
  };
  const auto memory = [&](double bytes, bool reduces) {
    return memory_seconds({bytes, reduces, 1.0}, half_precision(gpu), gpu.fit(KernelClass::memory_bound));
  };
  constexpr double tokens = s * b, square = b * heads * s * s, inner = 4 * h / t;
  LayerTime time;
  const double linears[4][2] = {{3 * h / t, h}, {h, h / t}, {inner, h}, {h, inner}};  // outputs, inputs
  for (const auto& [n, k] : linears) {
    time.forward += product(tokens, n, k, 1, 2);
    time.backward += product(tokens, k, n, 1, 2) + product(n, k, tokens, 1, 8);
  }
  time.forward += product(s, s, d, b * heads, 2) + product(s, d, s, b * heads, 2);
  time.backward += product(s, s, d, b * heads, 2) + 3 * product(s, d, s, b * heads, 2);
  // Softmax reads and writes 2 B; dropout adds 1 B of mask. Norms, GELU and dropout + add on [s b x h].
  time.forward += memory(4 * square, true) + memory(5 * square, false) + 2 * memory(4 * tokens * h, true) +
                  memory(4 * tokens * inner, false) + 2 * memory(7 * tokens * h, false);
  time.backward += memory(6 * square, true) + memory(5 * square, false) + 2 * memory(8 * tokens * h, true) +
                   memory(6 * tokens * inner, false) + 2 * memory(5 * tokens * h, false);
  return time;
}

TEST(MeasuredKernels, LayerOf22BIsAPlausibleShareOfTheMeasuredTime) {
  const LayerTime kernels = layer_22b(gpu_named("a100-sxm4-80gb"));
  fmt::print("22B layer, kernels alone: forward {:.2f} ms of 7.7 measured, backward {:.2f} ms of 11.9\n",
             kernels.forward * 1e3, kernels.backward * 1e3);
  EXPECT_GT(kernels.forward, 0.6 * 7.7e-3);
  EXPECT_LT(kernels.forward, 7.7e-3);
  EXPECT_GT(kernels.backward, 0.6 * 11.9e-3);
  EXPECT_LT(kernels.backward, 11.9e-3);
}

}  // namespace
}  // namespace orrery::sim
