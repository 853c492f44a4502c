// See small_schedule.h.
#include "tests/sim/engine/small_schedule.h"

#include <algorithm>

namespace orrery::sim::test {

using schedule::Op;
using schedule::OpKind;
using schedule::Program;
using schedule::Schedule;
using schedule::Stream;

Schedule empty_schedule(const Grid& grid) {
  Schedule s;
  const auto group = [](const char* name, std::int64_t stride, std::int64_t size) {
    return schedule::Group{.name = name, .stride = stride, .size = size, .period = size, .step = 1};
  };
  s.world = grid.world();
  s.groups = {group("world", 1, grid.world()),
              group("tensor", 1, grid.tp),
              group("data", grid.tp, grid.dp),
              group("pipe", grid.tp * grid.dp, grid.pp),
              {.name = "embedding",
               .stride = grid.tp * grid.dp,
               .size = std::min<std::int64_t>(grid.pp, 2),
               .period = grid.pp,
               .step = std::max<std::int64_t>(grid.pp - 1, 1)}};
  s.program_group = s.groups[schedule::kPipe];
  return s;
}

ProgramBuilder::ProgramBuilder(Schedule& schedule, std::uint32_t slots)
    : schedule_(schedule), index_(schedule.programs.size()) {
  schedule.programs.emplace_back();
  program().name = "program " + std::to_string(index_);
  program().slots = slots;
  program().buffers.push_back({.name = "bytes", .type = schedule::DataType::byte, .persistent = true});
}

std::uint32_t ProgramBuilder::token(std::uint32_t instances) {
  program().buffers.push_back({.name = "token" + std::to_string(program().buffers.size()),
                               .kind = schedule::BufferKind::token,
                               .instances = instances});
  return static_cast<std::uint32_t>(program().buffers.size() - 1);
}

void ProgramBuilder::block(const std::string& name) {
  Program& p = program();
  p.blocks.push_back({.name = name,
                      .first_op = static_cast<std::uint32_t>(p.ops.size()),
                      .first_formal = static_cast<std::uint32_t>(p.formals.size())});
  formal(bytes_buffer_);
}

std::uint16_t ProgramBuilder::formal(std::uint32_t token, std::uint32_t base, std::uint32_t slot_stride) {
  Program& p = program();
  p.formals.push_back({.buffer = BufferId(token), .base = base, .slot_stride = slot_stride});
  return static_cast<std::uint16_t>(p.blocks.back().formal_count++);
}

Op& ProgramBuilder::add(OpKind kind, Stream stream, std::int64_t ps) {
  Program& p = program();
  schedule_.shapes.push_back({.m = ps});
  p.ops.push_back({.kind = kind,
                   .stream = stream,
                   .first_view = static_cast<std::uint32_t>(p.views.size()),
                   .first_wait = static_cast<std::uint32_t>(p.waits.size()),
                   .shape = static_cast<std::uint32_t>(schedule_.shapes.size() - 1)});
  ++p.blocks.back().op_count;
  return p.ops.back();
}

ProgramBuilder& ProgramBuilder::kernel(std::int64_t ps, OpKind kind) {
  add(kind, Stream::compute, ps);
  return *this;
}
ProgramBuilder& ProgramBuilder::copy(std::int64_t ps) {
  add(OpKind::copy_to_host, Stream::to_host, ps);
  return *this;
}
ProgramBuilder& ProgramBuilder::host_wait() {
  add(OpKind::host_wait, Stream::host, 0);
  return *this;
}
ProgramBuilder& ProgramBuilder::message(OpKind kind, std::uint8_t group, std::int64_t bytes, Stream stream) {
  Op& op = add(kind, stream, 0);
  op.group = group;
  op.view_count = 1;
  const bool reads = kind == OpKind::send || kind == OpKind::reduce_scatter || kind == OpKind::all_to_all;
  program().views.push_back({.rows = 1,
                             .columns = bytes,
                             .row_stride = bytes,
                             .role = reads ? schedule::Role::x : schedule::Role::y,
                             .access = reads ? schedule::Access::read : schedule::Access::write});
  program().buffers[bytes_buffer_].elements = std::max(program().buffers[bytes_buffer_].elements, bytes);
  return *this;
}
ProgramBuilder& ProgramBuilder::send(int peer, std::int64_t bytes, Stream stream, int site) {
  message(OpKind::send, schedule::kPipe, bytes, stream);
  program().ops.back().peer = static_cast<std::int16_t>(peer);
  program().ops.back().site = static_cast<std::uint8_t>(site);
  return *this;
}
ProgramBuilder& ProgramBuilder::recv(int peer, std::int64_t bytes, Stream stream, int site) {
  message(OpKind::recv, schedule::kPipe, bytes, stream);
  program().ops.back().peer = static_cast<std::int16_t>(peer);
  program().ops.back().site = static_cast<std::uint8_t>(site);
  return *this;
}
ProgramBuilder& ProgramBuilder::on(Stream stream) {
  program().ops.back().stream = stream;
  return *this;
}
ProgramBuilder& ProgramBuilder::in_group(std::uint8_t group) {
  program().ops.back().group = group;
  return *this;
}
ProgramBuilder& ProgramBuilder::wait(std::uint16_t formal) {
  program().waits.push_back(formal);
  ++program().ops.back().wait_count;
  return *this;
}
ProgramBuilder& ProgramBuilder::record(std::uint16_t formal) {
  program().ops.back().record = formal;
  return *this;
}
ProgramBuilder& ProgramBuilder::grouped() {
  program().ops.back().grouped = true;
  return *this;
}
void ProgramBuilder::call(std::uint32_t block, std::uint32_t microbatch, std::uint32_t step) {
  program().calls.push_back({.block = BlockId(block), .microbatch = microbatch, .microbatch_step = step});
}
void ProgramBuilder::repeat(std::uint32_t first_call, std::uint32_t calls, std::uint32_t count) {
  program().repeats.push_back({.first_call = first_call, .call_count = calls, .count = count});
}

TransferPlan SmallNetwork::collective(OpKind, Bytes bytes, std::span<const std::int64_t> members) const {
  TransferPlan plan;
  for (const std::int64_t m : members)
    plan.crosses_nodes |= m / s_.gpus_per_node != members.front() / s_.gpus_per_node;
  const std::int64_t factor = plan.crosses_nodes ? 3 : 1;
  plan.time =
      Duration::from_ps(members.size() < 2 ? 0 : s_.latency + bytes.count() * s_.ps_per_byte * factor);
  plan.latency = Duration::from_ps(s_.latency);
  plan.sms = s_.sms;
  plan.port_weight = s_.port_weight;
  plan.nic_weight = plan.crosses_nodes ? s_.nic_weight : 0;
  return plan;
}

TransferPlan SmallNetwork::point_to_point(std::int64_t from, std::int64_t to, Bytes bytes) const {
  const std::int64_t pair[] = {from, to};
  return collective(OpKind::send, bytes, pair);
}

void SmallNetwork::loads(const TransferPlan& plan, std::int64_t rank, bool sends, bool receives,
                         std::vector<Load>& out) const {
  const auto add = [&](std::int64_t resource, std::uint32_t weight, bool wanted) {
    if (weight > 0 && wanted) out.push_back({static_cast<std::uint32_t>(resource), weight});
  };
  add(2 * rank, plan.port_weight, sends);
  add(2 * rank + 1, plan.port_weight, receives);
  const std::int64_t nic = 2 * s_.world + 2 * (rank / s_.gpus_per_nic);
  add(nic, plan.nic_weight, sends);
  add(nic + 1, plan.nic_weight, receives);
}

hardware::Cluster small_cluster(std::int64_t issue_cost_ps, int sms) {
  hardware::Cluster cluster;
  cluster.host_issue_cost = Duration::from_ps(issue_cost_ps);
  cluster.gpu.sms = sms;
  return cluster;
}

namespace {

// Blocks 0: forward (receive, compute, send), 1: backward.
void pipeline_blocks(ProgramBuilder& b, std::int64_t stage, std::int64_t stages, std::int64_t forward_ps,
                     std::int64_t backward_ps, std::int64_t bytes) {
  const std::uint32_t token = b.token(4);
  for (const bool backward : {false, true}) {
    b.block(backward ? "backward" : "forward");
    const std::uint16_t in = b.formal(token, backward ? 2 : 0), out = b.formal(token, backward ? 3 : 1);
    const bool has_input = backward ? stage + 1 < stages : stage > 0;
    const bool has_output = backward ? stage > 0 : stage + 1 < stages;
    const int previous = backward ? 1 : -1;
    if (has_input)
      b.recv(previous, bytes, backward ? Stream::pipe_recv_backward : Stream::pipe_recv_forward,
             backward ? 1 : 0)
          .record(in);
    b.kernel(backward ? backward_ps : forward_ps).record(out);
    if (has_input) b.wait(in);
    if (has_output)
      b.send(-previous, bytes, backward ? Stream::pipe_send_backward : Stream::pipe_send_forward,
             backward ? 1 : 0)
          .wait(out);
  }
}

}  // namespace

Schedule one_f_one_b(std::int64_t stages, std::int64_t microbatches, std::int64_t forward_ps,
                     std::int64_t backward_ps, std::int64_t bytes) {
  Schedule s = empty_schedule({.pp = stages});
  s.microbatches = microbatches;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    const auto warm_up = static_cast<std::uint32_t>(std::min(microbatches, stages - stage - 1));
    const auto m = static_cast<std::uint32_t>(microbatches);
    ProgramBuilder b(s, static_cast<std::uint32_t>(std::min(microbatches, stages - stage)));
    pipeline_blocks(b, stage, stages, forward_ps, backward_ps, bytes);
    for (std::uint32_t i = 0; i < warm_up; ++i) b.call(0, i);
    if (m > warm_up) {
      b.repeat(warm_up, 2, m - warm_up);
      b.call(0, warm_up, 1);
      b.call(1, 0, 1);
    }
    for (std::uint32_t i = m - warm_up; i < m; ++i) b.call(1, i);
  }
  return s;
}

Schedule gpipe(std::int64_t stages, std::int64_t microbatches, std::int64_t forward_ps,
               std::int64_t backward_ps, std::int64_t bytes) {
  Schedule s = empty_schedule({.pp = stages});
  s.microbatches = microbatches;
  for (std::int64_t stage = 0; stage < stages; ++stage) {
    ProgramBuilder b(s, static_cast<std::uint32_t>(microbatches));
    pipeline_blocks(b, stage, stages, forward_ps, backward_ps, bytes);
    for (std::uint32_t i = 0; i < 2; ++i) {
      b.repeat(i, 1, static_cast<std::uint32_t>(microbatches));
      b.call(i, 0, 1);
    }
  }
  return s;
}

}  // namespace orrery::sim::test
