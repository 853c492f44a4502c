// Hand-made schedules and machines for the engine's tests: a kernel takes as many picoseconds as its shape's
// m says, a message takes the network's latency plus its bytes times a price.
#pragma once

#include <string>
#include <vector>

#include "hardware/cluster.h"
#include "schedule/ir.h"
#include "sim/cost/kernel_cost.h"
#include "sim/network/network_model.h"

namespace orrery::sim::test {

// The rank grid of the small schedules: tensor fastest, then data, then pipe.
struct Grid {
  std::int64_t tp = 1, dp = 1, pp = 1;
  std::int64_t world() const { return tp * dp * pp; }
};
schedule::Schedule empty_schedule(const Grid& grid);

// Appends ops to the last block of a program.
class ProgramBuilder {
 public:
  ProgramBuilder(schedule::Schedule& schedule, std::uint32_t slots = 1);

  std::uint32_t token(std::uint32_t instances = 1);  // a buffer of which only events are used
  void block(const std::string& name);
  // An instance of a token, for the ops of this block.
  std::uint16_t formal(std::uint32_t token, std::uint32_t base = 0, std::uint32_t slot_stride = 0);

  ProgramBuilder& kernel(std::int64_t ps, schedule::OpKind kind = schedule::OpKind::gemm);
  ProgramBuilder& copy(std::int64_t ps);
  ProgramBuilder& host_wait();
  ProgramBuilder& message(schedule::OpKind kind, std::uint8_t group, std::int64_t bytes,
                          schedule::Stream stream);
  ProgramBuilder& send(int peer, std::int64_t bytes, schedule::Stream stream, int site = 0);
  ProgramBuilder& recv(int peer, std::int64_t bytes, schedule::Stream stream, int site = 0);
  ProgramBuilder& on(schedule::Stream stream);
  ProgramBuilder& in_group(std::uint8_t group);
  ProgramBuilder& wait(std::uint16_t formal);
  ProgramBuilder& record(std::uint16_t formal);
  ProgramBuilder& grouped();

  void call(std::uint32_t block, std::uint32_t microbatch = 0, std::uint32_t step = 0);
  void repeat(std::uint32_t first_call, std::uint32_t calls, std::uint32_t count);

 private:
  schedule::Program& program() { return schedule_.programs[index_]; }
  schedule::Op& add(schedule::OpKind kind, schedule::Stream stream, std::int64_t ps);
  schedule::Schedule& schedule_;
  std::size_t index_;
  std::uint32_t bytes_buffer_ = 0;
};

class ShapeCost : public KernelCost {
 public:
  KernelTime time(const schedule::Program&, const schedule::Op&,
                  const schedule::KernelShape& shape) const override {
    return {.time = Duration::from_ps(shape.m), .origin = Origin::exact};
  }
};

struct MachineShape {
  std::int64_t world = 1, gpus_per_node = 8, gpus_per_nic = 1;
  std::int64_t latency = 0, ps_per_byte = 1;
  std::int32_t sms = 0;
  std::uint32_t port_weight = 0, nic_weight = 0;
};

// Ports out and in of each rank, then NICs out and in. Transfers across nodes take three times as long.
class SmallNetwork : public NetworkModel {
 public:
  explicit SmallNetwork(const MachineShape& shape) : s_(shape) {}
  TransferPlan collective(schedule::OpKind kind, Bytes bytes,
                          std::span<const std::int64_t> members) const override;
  TransferPlan point_to_point(std::int64_t from, std::int64_t to, Bytes bytes) const override;
  std::uint32_t resource_count() const override { return static_cast<std::uint32_t>(4 * s_.world); }
  std::string resource_name(std::uint32_t resource) const override { return std::to_string(resource); }
  void loads(const TransferPlan& plan, std::int64_t rank, bool sends, bool receives,
             std::vector<Load>& out) const override;

 private:
  MachineShape s_;
};

hardware::Cluster small_cluster(std::int64_t issue_cost_ps = 0, int sms = 100);

// 1F1B with free communication: each stage's forward and backward take the given times; the main loop is a
// repeat.
schedule::Schedule one_f_one_b(std::int64_t stages, std::int64_t microbatches, std::int64_t forward_ps,
                               std::int64_t backward_ps, std::int64_t bytes = 0);
// All forwards, then all backwards, each one repeat.
schedule::Schedule gpipe(std::int64_t stages, std::int64_t microbatches, std::int64_t forward_ps,
                         std::int64_t backward_ps, std::int64_t bytes = 0);

}  // namespace orrery::sim::test
