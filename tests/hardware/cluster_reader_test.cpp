// Wrong hardware files: every error at once, each at its place, with what is allowed.
#include "hardware/cluster_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>

namespace orrery::hardware {
namespace {

using testing::HasSubstr;

struct ReadResult {
  Cluster cluster;
  std::string errors;
};

ReadResult read(const std::string& text) {
  auto source = std::make_shared<SourceFile>();
  source->path = "c.json";
  source->text = text;
  Diagnostics diagnostics;
  const Json json = parse_json(source, diagnostics);
  ReadResult result{read_cluster(json, diagnostics), ""};
  result.errors = diagnostics.text();
  return result;
}

std::string based(const std::string& more) {
  return R"({"base": "hardware/clusters/a100-80g-16x8.json", )" + more + "}";
}

TEST(ClusterReader, AnOverrideKeepsTheRest) {
  const ReadResult result =
      read(based(R"("nodes": 3, "node": {"nics": {"count": 2, "line": "100 Gbit/s"}})"));
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.cluster.nodes, 3);
  EXPECT_EQ(result.cluster.node.gpus, 8);
  ASSERT_EQ(result.cluster.node.nics.size(), 2U);
  EXPECT_DOUBLE_EQ(result.cluster.node.nics[1].line.value(), 12.5e9);
  EXPECT_EQ(result.cluster.node.nics[1].pcie_switch, 2);
  EXPECT_EQ(result.cluster.gpu.name, "A100-SXM4-80GB");
}

TEST(ClusterReader, AllErrorsAtOnceWithTheirPlaces) {
  const ReadResult result = read(based(R"(
    "nodes": 0,
    "placement": "paked",
    "node": {"gpus": 70, "intra": "nvswich", "nics": [{"line": 100, "pcie_switch": 9}]},
    "fabric": {"efficiency": 1.5},
    "colour": "red")"));
  EXPECT_THAT(result.errors, HasSubstr("c.json:2:14: error"));
  EXPECT_THAT(result.errors, HasSubstr("c.json:3:18: error"));
  EXPECT_THAT(result.errors, HasSubstr("did you mean \"packed\""));
  EXPECT_THAT(result.errors, HasSubstr("c.json:4:22: error"));
  EXPECT_THAT(result.errors, HasSubstr("did you mean \"nvswitch\""));
  EXPECT_THAT(result.errors, HasSubstr("has no unit"));
  EXPECT_THAT(result.errors, HasSubstr("\"pcie_switch\" in nic is 9"));
  EXPECT_THAT(result.errors, HasSubstr("\"efficiency\" in fabric is 1.5"));
  EXPECT_THAT(result.errors, HasSubstr("unknown key \"colour\""));
}

TEST(ClusterReader, ContradictionsAreErrors) {
  EXPECT_THAT(read(based(R"("fabric": {"kind": "none"})")).errors, HasSubstr("no fabric between them"));
  EXPECT_THAT(read(based(R"("node": {"nics": null})")).errors, HasSubstr("16 nodes without NICs"));
  EXPECT_THAT(read(based(R"("node": {"nvls": true})")).errors, HasSubstr("NVLS"));
  EXPECT_THAT(read(based(R"("node": {"intra": "cube_mesh", "gpus": 4})")).errors,
              HasSubstr("a cube mesh has 8"));
  EXPECT_THAT(read(based(R"("node": {"intra": "nvlink_pairs", "gpus": 7})")).errors,
              HasSubstr("7 GPUs cannot pair"));
  EXPECT_THAT(read(based(R"("node": {"gpus": 2})")).errors, HasSubstr("4 PCIe switches for 2 GPUs"));
  EXPECT_THAT(read(based(R"("node": {"pcie_switches": 1})")).errors,
              HasSubstr("2 sockets share 1 PCIe switches"));
  EXPECT_THAT(read(based(R"("gpu": "hardware/gpus/rtx-4090.json")")).errors,
              HasSubstr("RTX-4090 has no NVLink"));
  EXPECT_THAT(read(based(R"("fabric": {"kind": "one_switch"})")).errors,
              HasSubstr("unknown key \"oversubscription\""));
}

TEST(ClusterReader, QuantitiesOutOfRange) {
  EXPECT_THAT(read(based(R"("node": {"nics": {"count": 1, "line": "0 Gbit/s"}})")).errors,
              HasSubstr("line is out of range"));
  EXPECT_THAT(read(based(R"("fabric": {"hop_latency": "3 h"})")).errors,
              HasSubstr("hop_latency is out of range"));
  EXPECT_THAT(read(based(R"("fabric": {"hop_latency": "11 ms"})")).errors, HasSubstr("0 to 10 ms"));
  EXPECT_EQ(read(based(R"("fabric": {"hop_latency": "10 ms"})")).errors, "");
  EXPECT_THAT(read(based(R"("node": {"nics": {"count": 1, "line": "900 kB/s"}})")).errors,
              HasSubstr("1 MB/s to 1 PB/s"));
  EXPECT_EQ(read(based(R"("node": {"nics": {"count": 1, "line": "1 MB/s"}})")).errors, "");
  EXPECT_THAT(
      read(
          based(
              R"("gpu": {"base": "hardware/gpus/a100-sxm4-80gb.json", "dense_peak": {"fp32": "1 MFLOP/s"}})"))
          .errors,
      HasSubstr("1 GFLOP/s to 1000 PFLOP/s"));
  EXPECT_THAT(read(based(R"("context_bytes": "0 B")")).errors, HasSubstr("context_bytes is out of range"));
}

TEST(ClusterReader, SlowGpus) {
  const ReadResult good =
      read(based(R"("slow_gpus": [{"rank": 9, "speed": 0.5}, {"rank": 3, "speed": 0.8}])"));
  EXPECT_EQ(good.errors, "");
  ASSERT_EQ(good.cluster.slow_gpus.size(), 2U);
  EXPECT_EQ(good.cluster.slow_gpus[0].first, 3);
  EXPECT_THAT(read(based(R"("slow_gpus": [{"rank": 128, "speed": 0.5}])")).errors,
              HasSubstr("from 0 to 127"));
  EXPECT_THAT(read(based(R"("slow_gpus": [{"rank": 1, "speed": 0.5}, {"rank": 1, "speed": 0.6}])")).errors,
              HasSubstr("rank 1 is named twice"));
}

// Each repetition at its own place, in a list of a hundred thousand; quadratic search would take minutes.
TEST(ClusterReader, SlowGpusOfALargeCluster) {
  std::string list = R"({"rank": 7, "speed": 0.5})";
  for (int rank = 0; rank < 100'000; ++rank)
    list += ", {\"rank\": " + std::to_string(rank) + ", \"speed\": 0.9}";
  const ReadResult result =
      read(based("\"nodes\": 12500, \"slow_gpus\": [\n" + list + ",\n{\"rank\": 99999, \"speed\": 1}]"));
  EXPECT_EQ(result.cluster.slow_gpus.size(), 100'000U);
  EXPECT_DOUBLE_EQ(result.cluster.slow_gpus[7].second, 0.5);
  EXPECT_THAT(result.errors, HasSubstr("rank 7 is named twice"));
  EXPECT_THAT(result.errors, HasSubstr("c.json:3:1: error: rank 99999 is named twice"));
}

// Eight V100 cannot all have a link of their own to seven others.
TEST(ClusterReader, MeshNeedsALinkToEveryOther) {
  const char* mesh =
      R"("gpu": "hardware/gpus/v100-sxm2-16gb.json", "node": {"intra": "nvlink_mesh", "gpus": )";
  EXPECT_THAT(read(based(std::string(mesh) + "8}")).errors,
              HasSubstr("6 NVLinks of a GPU do not reach 7 others"));
  EXPECT_EQ(read(based(std::string(mesh) + "7}")).errors, "");
}

TEST(ClusterReader, MissingAndCircularBases) {
  EXPECT_THAT(read(R"({"base": "nowhere.json"})").errors, HasSubstr("there is no file \"nowhere.json\""));
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "orrery_base_circle";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "a.json") << R"({"base": "b.json"})";
  std::ofstream(folder / "b.json") << R"({"base": "a.json"})";
  EXPECT_THAT(read(R"({"base": ")" + (folder / "a.json").string() + R"("})").errors,
              HasSubstr("leads back to"));
  std::filesystem::remove_all(folder);
}

std::string with_graph(const std::string& vertices, const std::string& links) {
  return R"({"base": "hardware/clusters/a100-nv4-4.json", "graph": {"vertices": [)" + vertices +
         R"(], "links": [)" + links + "]}}";
}
constexpr const char* kTwoGpus =
    R"({"name": "a", "kind": "gpu", "node": 0}, {"name": "b", "kind": "gpu", "node": 0})";

TEST(GraphReader, CountsMachines) {
  const ReadResult result =
      read(with_graph(R"({"name": "a", "kind": "gpu", "node": 0}, {"name": "b", "kind": "gpu", "node": 1})",
                      R"({"from": "a", "to": "b", "usable": "1 GB/s", "latency": "1 us"})"));
  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.cluster.nodes, 2);
  EXPECT_EQ(result.cluster.node.gpus, 1);
}

TEST(GraphReader, Errors) {
  EXPECT_THAT(read(with_graph(kTwoGpus, "")).errors, HasSubstr("no path from 'a' to 'b'"));
  EXPECT_THAT(
      read(with_graph(kTwoGpus, R"({"from": "a", "to": "bb", "usable": "1 GB/s", "latency": "1 us"})"))
          .errors,
      HasSubstr("there is no vertex 'bb'"));
  EXPECT_THAT(
      read(with_graph(kTwoGpus, R"({"from": "a", "to": "a", "usable": "1 GB/s", "latency": "1 us"})")).errors,
      HasSubstr("from a vertex to itself"));
  EXPECT_THAT(
      read(with_graph(R"({"name": "a", "kind": "gpu", "node": 0}, {"name": "a", "kind": "gpu", "node": 0})",
                      ""))
          .errors,
      HasSubstr("a second vertex is called 'a'"));
  EXPECT_THAT(
      read(with_graph(R"({"name": "a", "kind": "gpu", "node": 0}, {"name": "b", "kind": "gpu", "node": 0},
                                 {"name": "c", "kind": "gpu", "node": 1})",
                      ""))
          .errors,
      HasSubstr("node 1 has 1 GPUs, node 0 has 2"));
  EXPECT_THAT(read(with_graph(R"({"name": "a", "kind": "gpu", "node": 2})", "")).errors,
              HasSubstr("node 0 has no GPU"));
  EXPECT_THAT(read(with_graph("", "")).errors, HasSubstr("vertices must be a list"));
  EXPECT_THAT(read(R"({"base": "hardware/clusters/a100-nv4-4.json", "nodes": 2})").errors,
              HasSubstr("nodes beside a graph"));
}

}  // namespace
}  // namespace orrery::hardware
