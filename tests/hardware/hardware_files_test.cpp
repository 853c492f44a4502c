// Every hardware file that ships is readable and complete, and says where its numbers come from.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/data_root.h"
#include "hardware/cluster_reader.h"

namespace orrery::hardware {
namespace {

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(data_root() + "/" + folder))
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(HardwareFiles, EveryGpuReads) {
  const std::vector<std::string> paths = files_in("hardware/gpus");
  ASSERT_GE(paths.size(), 14U);
  for (const std::string& path : paths) {
    Diagnostics diagnostics;
    const Gpu gpu = read_gpu(read_json(path), diagnostics);
    EXPECT_EQ(diagnostics.text(), "") << path;
    EXPECT_GT(gpu.source.size(), 20U) << path;
    EXPECT_GT(gpu.peak(Precision::fp16), gpu.peak(Precision::fp32)) << path;
    EXPECT_LE(gpu.nvlink_usable, gpu.nvlink_line) << path;
  }
}

TEST(HardwareFiles, EveryClusterReads) {
  const std::vector<std::string> paths = files_in("hardware/clusters");
  ASSERT_GE(paths.size(), 20U);
  for (const std::string& path : paths) {
    Diagnostics diagnostics;
    const Cluster cluster = read_cluster(read_json(path), diagnostics);
    EXPECT_EQ(diagnostics.text(), "") << path;
    EXPECT_GE(cluster.gpus(), 1) << path;
    EXPECT_FALSE(cluster.gpu.name.empty()) << path;
    if (cluster.nodes > 1) {
      EXPECT_GT(cluster.fabric.efficiency, 0.0) << path;
      EXPECT_GT(cluster.fabric.nic_source.size(), 20U) << path;
    }
  }
}

// Dense peaks: the printed marketing rate of an H100 (1979) is with sparsity.
TEST(HardwareFiles, PeaksAreDense) {
  Diagnostics diagnostics;
  const Gpu h100 = read_gpu(read_json(data_root() + "/hardware/gpus/h100-sxm5-80gb.json"), diagnostics);
  const double mfu = 400e12 / h100.peak(Precision::bf16).value();
  EXPECT_NEAR(mfu, 0.404, 0.001);
}

// Usable NVLink per GPU as NCCL counts it: V100 120, A100 240, H100 371, B200 722 GB/s.
TEST(HardwareFiles, UsableNvlinkPerGpu) {
  const auto usable = [](const std::string& name) {
    Diagnostics diagnostics;
    const Gpu gpu = read_gpu(read_json(data_root() + "/hardware/gpus/" + name), diagnostics);
    return gpu.nvlink_usable.value() * gpu.nvlinks * 1e-9;
  };
  EXPECT_NEAR(usable("v100-sxm2-16gb.json"), 120.0, 0.5);
  EXPECT_NEAR(usable("a100-sxm4-80gb.json"), 240.0, 0.5);
  EXPECT_NEAR(usable("h100-sxm5-80gb.json"), 371.0, 0.5);
  EXPECT_NEAR(usable("b200-sxm.json"), 722.0, 0.5);
}

}  // namespace
}  // namespace orrery::hardware
