// Copies to the host: the GPUs of one PCIe switch share its way up. CPU Adam: those of a machine share its
// memory.
#include "sim/cost/host_model.h"

#include <gtest/gtest.h>

namespace orrery::sim {
namespace {

hardware::Cluster machine(int gpus, int switches) {
  hardware::Cluster cluster;
  cluster.gpu.pcie_usable = Bandwidth(24e9);
  cluster.node.gpus = gpus;
  cluster.node.pcie_switches = switches;
  cluster.node.host_memory_bandwidth = Bandwidth(400e9);
  return cluster;
}

TEST(HostModel, GpusOfOneSwitchShareItsUplink) {
  EXPECT_DOUBLE_EQ(host_device(machine(8, 8)).pcie, 24e9);
  EXPECT_DOUBLE_EQ(host_device(machine(8, 4)).pcie, 12e9);
  EXPECT_DOUBLE_EQ(host_device(machine(8, 1)).pcie, 3e9);
  EXPECT_DOUBLE_EQ(host_device(machine(1, 1)).pcie, 24e9);
  EXPECT_DOUBLE_EQ(host_device(machine(8, 3)).pcie, 8e9) << "three of the eight on the fullest switch";
}

TEST(HostModel, AGraphSaysWhichGpusShare) {
  using hardware::VertexKind;
  hardware::Cluster cluster = machine(3, 1);
  cluster.graph.emplace();
  cluster.graph->vertices = {{"host", VertexKind::host_bridge, 0},
                             {"switch", VertexKind::pcie_switch, 0},
                             {"gpu0", VertexKind::gpu, 0},
                             {"gpu1", VertexKind::gpu, 0},
                             {"gpu2", VertexKind::gpu, 0}};
  const auto link = [&](int a, int b, double width) {
    cluster.graph->links.push_back({a, b, Bandwidth(width), {}});
  };
  link(2, 0, 24e9);  // on lanes of its own
  EXPECT_DOUBLE_EQ(host_device(cluster).pcie, 24e9);
  link(3, 1, 24e9);
  link(1, 4, 24e9);
  link(1, 0, 36e9);
  EXPECT_DOUBLE_EQ(host_device(cluster).pcie, 18e9);
}

TEST(HostModel, CopiesTakeALatencyAndTheirShareOfTheUplink) {
  const HostDevice alone = host_device(machine(8, 8)), shared = host_device(machine(8, 4));
  EXPECT_DOUBLE_EQ(copy_seconds(0.0, alone, true), copy_seconds(0.0, shared, true));
  EXPECT_NEAR(copy_seconds(24e9, alone, true), 1.0, 1e-4);
  EXPECT_NEAR(copy_seconds(24e9, shared, true), 2.0, 1e-4);
  EXPECT_NEAR(copy_seconds(24e9, alone, false), 3.0, 1e-4) << "and staged by one core at 12 GB/s";
}

TEST(HostModel, GpusOfAMachineShareHostMemory) {
  EXPECT_DOUBLE_EQ(cpu_adam_seconds(25e9, host_device(machine(8, 8))),
                   1.0);  // 400 GB/s, half usable, eight processes
}

// ZeRO-Offload: 1e9 parameters of 28 bytes on the two CPUs of a DGX-2, 256 GB/s, in 0.22 s.
TEST(HostModel, CpuAdamSharesTheHostMemory) {
  hardware::Cluster cluster = machine(1, 1);
  cluster.node.host_memory_bandwidth = Bandwidth(256e9);
  EXPECT_NEAR(cpu_adam_seconds(28e9, host_device(cluster)), 0.22, 0.01);
  cluster.node.gpus = 16;
  EXPECT_NEAR(cpu_adam_seconds(28e9 / 16.0, host_device(cluster)), 0.22, 0.01);
}

}  // namespace
}  // namespace orrery::sim
