// CPU machines: ranks that share cores, with measured tables named by path or inline; and every mistake at
// its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "hardware/cluster_reader.h"
#include "tests/base/source_text.h"

namespace orrery::hardware {
namespace {

using testing::HasSubstr;

constexpr const char* kText = R"({
  "name": "two cores", "source": "a test",
  "gpu": {"kind": "cpu", "name": "one core", "source": "measured",
          "dense_peak": {"fp32": "60 GFLOP/s", "bf16": "20 GFLOP/s"}, "memory": "3 GiB", "memory_bandwidth": "9 GB/s",
          "kernel_table": {"provenance": {"machine": "m", "date": "d", "program": "p"}, "op_overhead": "1 us",
            "kernels": [{"name": "add.fp32", "dims": ["elements"], "points": [{"dims": [64], "bytes": 768, "seconds": 1e-6}]}]}},
  "nodes": 1,
  "node": {"gpus": 2, "cores": 2, "host": {"memory": "8 GiB", "memory_bandwidth": "12 GB/s", "cpu_vendor": "amd"}},
  "fabric": {"kind": "none"},
  "transfers": {"provenance": {"machine": "m", "date": "d", "program": "p"}, "curves": [
    {"operation": "all_reduce", "ranks": 2, "placement": "one_node", "points": [{"bytes": 64, "seconds": 1e-5}]}]}
})";

struct ReadResult {
  Cluster cluster;
  std::string errors;
};

ReadResult read(const std::string& text) {
  Diagnostics diagnostics;
  ReadResult result{read_cluster(test::parsed(text), diagnostics), ""};
  result.errors = diagnostics.text();
  return result;
}

std::string errors_with(const std::string& from, const std::string& to) {
  std::string text = kText;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  return read(text).errors;
}

TEST(CpuMachine, ReadsRanksCoresAndTables) {
  const ReadResult result = read(kText);
  EXPECT_EQ(result.errors, "");
  const Cluster& cluster = result.cluster;
  EXPECT_EQ(cluster.gpu.kind, DeviceKind::cpu);
  EXPECT_EQ(cluster.gpus(), 2);
  EXPECT_EQ(cluster.node.cores, 2);
  EXPECT_EQ(cluster.gpu.sms, 0);  // transfers take cores, not SMs
  EXPECT_DOUBLE_EQ(cluster.gpu.peak(Precision::bf16).value(), 20e9);
  EXPECT_EQ(cluster.host_issue_cost, Duration());
  EXPECT_EQ(cluster.context_bytes + cluster.communicator_bytes, Bytes());
  ASSERT_NE(cluster.gpu.kernel_table, nullptr);
  EXPECT_EQ(cluster.gpu.kernel_table->kernels[0].name, "add.fp32");
  ASSERT_NE(cluster.transfers, nullptr);
  EXPECT_EQ(cluster.transfers->curves[0].points[0].bytes, 64);
}

TEST(CpuMachine, TablesMayBeFilesBesideTheClusters) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "cpu_machine_test";
  std::filesystem::create_directories(folder);
  const ReadResult inlined = read(kText);
  std::ofstream(folder / "kernels.json") << kernel_table_json(*inlined.cluster.gpu.kernel_table);
  std::ofstream(folder / "transfers.json") << transfer_table_json(*inlined.cluster.transfers);
  std::string text = kText;
  const std::size_t kernels = text.find("{\"provenance\""), end = text.find("}},\n  \"nodes\"");
  text.replace(kernels, end + 1 - kernels, "\"kernels.json\"");
  const std::size_t transfers = text.find("{\"provenance\"");
  text.replace(transfers, text.rfind('}') - transfers, "\"transfers.json\"\n");
  std::ofstream(folder / "cluster.json") << text;
  Diagnostics diagnostics;
  const Cluster cluster = read_cluster(read_json((folder / "cluster.json").string()), diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  ASSERT_NE(cluster.gpu.kernel_table, nullptr);
  ASSERT_NE(cluster.transfers, nullptr);
  EXPECT_EQ(*cluster.gpu.kernel_table, *inlined.cluster.gpu.kernel_table);
  EXPECT_EQ(*cluster.transfers, *inlined.cluster.transfers);
}

TEST(CpuMachine, MistakesHavePlaces) {
  EXPECT_THAT(errors_with("\"cores\": 2, ", ""), HasSubstr("\"cores\" in node is required"));
  EXPECT_THAT(errors_with("\"cores\": 2", "\"cores\": 0"), HasSubstr("test.json:8:32: error"));
  EXPECT_THAT(errors_with("\"kind\": \"cpu\", ", "\"kind\": \"cpu\", \"sms\": 4, "), HasSubstr("\"sms\""));
  EXPECT_THAT(errors_with("\"kind\": \"cpu\"", "\"kind\": \"tpu\""), HasSubstr("test.json:3:19: error"));
  EXPECT_THAT(errors_with("\"kernel_table\"", "\"kernel_tabel\""),
              HasSubstr("\"kernel_table\" in gpu is required"));
  EXPECT_THAT(errors_with("\"transfers\"", "\"transfer\""),
              HasSubstr("2 ranks of a CPU machine and no \"transfers\""));
  EXPECT_THAT(errors_with("\"seconds\": 1e-5", "\"seconds\": -1e-5"), HasSubstr("test.json:11:106"));
  EXPECT_THAT(errors_with("[64]", "[64, 2]"), HasSubstr("test.json:6:"));
  EXPECT_THAT(errors_with("\"nodes\": 1", "\"nodes\": 2"), HasSubstr("no fabric between them"));
}

TEST(CpuMachine, GpuNodesHaveNoCores) {
  EXPECT_THAT(read(R"({"base": "hardware/clusters/dgx-a100-80g.json", "node": {"cores": 8}})").errors,
              HasSubstr("\"cores\""));
}

TEST(CpuMachine, AGpuMayHaveATableToo) {
  const ReadResult result = read(R"({"base": "hardware/clusters/dgx-a100-80g.json", "gpu": {
    "base": "hardware/gpus/a100-sxm4-80gb.json",
    "kernel_table": {"provenance": {"machine": "m", "date": "d", "program": "p"}, "op_overhead": "0 us",
                     "kernels": []}}})");
  EXPECT_EQ(result.errors, "");
  EXPECT_NE(result.cluster.gpu.kernel_table, nullptr);
  EXPECT_GT(result.cluster.gpu.fit(KernelClass::gemm).peak_fraction, 0.0);  // for what the table lacks
}

}  // namespace
}  // namespace orrery::hardware
