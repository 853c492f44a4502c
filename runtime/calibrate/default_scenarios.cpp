#include "runtime/calibrate/default_scenarios.h"

#include <fmt/format.h>

#include "base/check.h"

namespace orrery::runtime {
namespace {

constexpr const char* kGpt =
    R"({"name": "gpt", "layers": 4, "hidden": 256, "heads": 8, "vocab": 256, "max_positions": 256})";
constexpr const char* kLlama =
    R"({"name": "llama", "layers": 4, "hidden": 256, "heads": 8, "kv_heads": 4, "ffn_hidden": 704, "vocab": 256,
        "position": "rotary", "norm": "rms_norm", "activation": "swiglu", "qkv_bias": false, "attention_out_bias": false,
        "mlp_bias": false, "tied_embeddings": false})";

std::string scenario(const char* model, const char* precision, std::int64_t ranks) {
  return fmt::format(R"({{"model": {}, "cluster": {}, "training": {{"global_batch": {}, "micro_batch": 4,
                          "sequence_length": 128, "precision": "{}"}}}})",
                     model, unmeasured_cluster(ranks), 8 * ranks, precision);
}

}  // namespace

std::string unmeasured_cluster(std::int64_t ranks) {
  CHECK(ranks >= 1 && ranks <= kMostRanks, ranks);
  return fmt::format(
      R"({{"name": "not measured", "source": "none",
          "gpu": {{"kind": "cpu", "name": "not measured", "source": "none",
                   "dense_peak": {{"fp32": "1 TFLOP/s", "bf16": "1 TFLOP/s", "fp16": "1 TFLOP/s"}},
                   "memory": "1 TiB", "memory_bandwidth": "1 TB/s",
                   "kernel_table": {{"provenance": {0}, "op_overhead": "1 us", "kernels": []}}}},
          "nodes": 1, "node": {{"gpus": {1}, "cores": {1},
                                "host": {{"memory": "1 TiB", "memory_bandwidth": "1 TB/s", "cpu_vendor": "other"}}}},
          "fabric": {{"kind": "none"}},
          "transfers": {{"provenance": {0}, "curves": []}}}})",
      R"({"machine": "none", "date": "none", "program": "none"})", ranks);
}

std::vector<ScenarioText> default_scenarios(std::int64_t ranks) {
  return {{"gpt", scenario(kGpt, "fp32", ranks)},
          {"llama", scenario(kLlama, "fp32", ranks)},
          {"gpt in bf16", scenario(kGpt, "bf16", ranks)}};
}

}  // namespace orrery::runtime
