// Damaged hardware files: cut off anywhere, with bytes changed, pieces repeated or numbers blown up. The reader must
// diagnose or succeed; it never crashes, hangs or throws anything but InputError. Bounded, seeded: the same every time.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "base/data_root.h"
#include "hardware/cluster_reader.h"

namespace orrery::hardware {
namespace {

enum class What { gpu, cluster, kernel_table, transfer_table };

// Returns whether the text was accepted.
bool survives(const std::string& text, What what) {
  auto source = std::make_shared<SourceFile>();
  source->path = "fuzz.json";
  source->text = text;
  Diagnostics diagnostics;
  const Json json = parse_json(source, diagnostics);
  if (diagnostics.has_errors()) return false;
  if (what == What::gpu) static_cast<void>(read_gpu(json, diagnostics));
  if (what == What::cluster) static_cast<void>(read_cluster(json, diagnostics));
  if (what == What::kernel_table) static_cast<void>(read_kernel_table(json, diagnostics));
  if (what == What::transfer_table) static_cast<void>(read_transfer_table(json, diagnostics));
  return !diagnostics.has_errors();
}

std::string mutated(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random()) % n; };
  static const std::vector<std::string> kPieces = {"-1", "1e308", "9223372036854775807", "null", "\"\"", "[]", "{}", "true",
                                                   "\"0 GB/s\"", "\"1e30 GB/s\"", "0", "\"-5 us\"", "{\"base\": 3}", "\"\\u0000\""};
  for (std::size_t n = 1 + below(3); n > 0; --n) {
    const std::size_t at = below(text.size());
    switch (below(5)) {
      case 0: text.resize(at + 1); break;
      case 1: text[at] = static_cast<char>(below(256)); break;
      case 2: text.insert(at, kPieces[below(kPieces.size())]); break;
      case 3: text.erase(at, 1 + below(20)); break;
      default: {  // replace a value: from the next ':' to the next ',' or '}'
        const std::size_t colon = text.find(':', at), end = text.find_first_of(",}", colon == std::string::npos ? at : colon);
        if (colon != std::string::npos && end != std::string::npos)
          text.replace(colon + 1, end - colon - 1, kPieces[below(kPieces.size())]);
      }
    }
    if (text.empty()) text = "x";
  }
  return text;
}

void fuzz_text(const std::string& text, What what, int rounds) {
  ASSERT_TRUE(survives(text, what)) << text;
  std::mt19937 random(20240229);
  int accepted = 0;
  for (int i = 0; i < rounds; ++i) {
    const std::string damaged = mutated(text, random);
    EXPECT_NO_THROW(accepted += survives(damaged, what) ? 1 : 0) << damaged;
  }
  EXPECT_LT(accepted, rounds);  // most damage is found
}

void fuzz(const std::string& file, What what, int rounds) {
  fuzz_text(read_source(data_root() + "/" + file)->text, what, rounds);
}

TEST(ReaderFuzz, Gpu) { fuzz("hardware/gpus/a100-sxm4-80gb.json", What::gpu, 4000); }
TEST(ReaderFuzz, Cluster) { fuzz("hardware/clusters/dgx-h100.json", What::cluster, 2000); }
TEST(ReaderFuzz, ClusterWithBase) { fuzz("hardware/clusters/llama3-h100-2048x8.json", What::cluster, 2000); }
TEST(ReaderFuzz, Graph) { fuzz("hardware/clusters/a100-nv4-4.json", What::cluster, 2000); }

constexpr const char* kKernels = R"({
  "provenance": {"machine": "m", "date": "d", "program": "p", "options": "o", "notes": ["n"]},
  "op_overhead": "1.5 us", "busy_ranks": 2, "contention": {"compute_bound": 1.1, "memory_bound": 1.6},
  "kernels": [
    {"name": "gemm_tn.fp32", "dims": ["m", "n", "k"], "points": [
      {"dims": [64, 128, 256], "flops": 4194304, "bytes": 229376, "seconds": 1.3e-4, "p10": 1.2e-4, "p90": 1.5e-4,
       "busy_seconds": 1.4e-4, "samples": 21, "outliers": 2}]},
    {"name": "add.fp32", "dims": ["elements"], "points": [{"dims": [4096], "bytes": 49152, "seconds": 5e-6}]}]
})";
constexpr const char* kTransfers = R"({
  "provenance": {"machine": "m", "date": "d", "program": "p"},
  "curves": [{"operation": "all_reduce", "ranks": 2, "placement": "one_node", "cores": 0.9, "points": [
      {"bytes": 1024, "seconds": 8e-6, "p10": 7e-6, "p90": 1.1e-5, "samples": 20, "outliers": 1},
      {"bytes": 1048576, "seconds": 4.1e-4}]}]
})";

TEST(ReaderFuzz, KernelTable) { fuzz_text(kKernels, What::kernel_table, 4000); }
TEST(ReaderFuzz, TransferTable) { fuzz_text(kTransfers, What::transfer_table, 4000); }
TEST(ReaderFuzz, CpuMachine) {
  fuzz_text(std::string(R"({"name": "c", "source": "s", "gpu": {"kind": "cpu", "name": "core", "source": "s",
    "dense_peak": {"fp32": "60 GFLOP/s"}, "memory": "3 GiB", "memory_bandwidth": "9 GB/s", "kernel_table": )") +
                kKernels + R"(}, "nodes": 2, "node": {"gpus": 2, "cores": 2, "nics": {"count": 1, "line": "10 Gbit/s"},
    "host": {"memory": "8 GiB", "memory_bandwidth": "12 GB/s", "cpu_vendor": "amd"}},
    "fabric": {"kind": "one_switch", "transport": "tcp", "hop_latency": "10 us", "efficiency": 0.9, "nic_source": "s"},
    "transfers": )" + kTransfers + "}",
            What::cluster, 4000);
}

TEST(ReaderFuzz, EveryPrefixOfAFile) {
  const std::string text = read_source(data_root() + "/hardware/clusters/dgx-1-v100.json")->text;
  for (std::size_t length = 0; length + 3 < text.size(); ++length)
    EXPECT_FALSE(survives(text.substr(0, length), What::cluster)) << length;
}

}  // namespace
}  // namespace orrery::hardware
