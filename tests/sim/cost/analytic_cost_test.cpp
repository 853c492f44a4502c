// The cost of every kind of op through the seam: bounds, monotony, origins, a measured layer, host copies and
// CPU Adam.
#include "sim/cost/analytic_cost.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "sim/cost/stack_cost.h"
#include "tests/sim/cost/gpus.h"

namespace orrery::sim {
namespace {

using hardware::KernelClass;
using hardware::Precision;
using schedule::Access;
using schedule::DataType;
using schedule::KernelShape;
using schedule::OpKind;
using schedule::Role;

// A program of one block with one op, which reads and writes whole buffers.
class OneOp {
 public:
  explicit OneOp(OpKind kind) {
    program_.blocks.resize(1);
    program_.blocks[0].op_count = 1;
    program_.ops.resize(1);
    program_.ops[0].kind = kind;
  }
  OneOp& with(Role role, std::int64_t rows, std::int64_t columns, Access access,
              DataType type = DataType::bf16) {
    schedule::Buffer buffer;
    buffer.type = type;
    buffer.elements = rows * columns;
    schedule::Formal formal;
    formal.buffer = BufferId(program_.buffers.size());
    schedule::View view;
    view.rows = rows;
    view.columns = view.row_stride = columns;
    view.formal = static_cast<std::uint16_t>(program_.formals.size());
    view.role = role;
    view.access = access;
    program_.buffers.push_back(buffer);
    program_.formals.push_back(formal);
    program_.views.push_back(view);
    program_.blocks[0].formal_count++;
    program_.ops[0].view_count++;
    return *this;
  }
  KernelTime time(const KernelCost& cost, const KernelShape& shape = {}) const {
    return cost.time(program_, program_.ops[0], shape);
  }

 private:
  schedule::Program program_;
};

hardware::Cluster one_node(const char* gpu) {
  hardware::Cluster cluster;
  cluster.gpu = gpu_named(gpu);
  cluster.node.gpus = 8;
  cluster.node.host_memory_bandwidth = Bandwidth(400e9);
  return cluster;
}

KernelShape gemm_shape(std::int64_t m, std::int64_t n, std::int64_t k) {
  KernelShape shape;
  shape.m = m;
  shape.n = n;
  shape.k = k;
  return shape;
}

OneOp linear(std::int64_t m, std::int64_t n, std::int64_t k) {
  OneOp op(OpKind::gemm);
  op.with(Role::x, m, k, Access::read).with(Role::w, n, k, Access::read).with(Role::y, m, n, Access::write);
  return op;
}

TEST(AnalyticCost, EveryOpThatIsComputeOnTheDeviceHasAClass) {
  for (std::size_t k = 0; k < schedule::kOpKinds; ++k) {
    const auto kind = static_cast<OpKind>(k);
    EXPECT_EQ(kernel_class(kind).has_value(), schedule::is_compute(kind)) << name(kind);
  }
}

TEST(AnalyticCost, KnowsItsOriginAndInterval) {
  const hardware::Cluster cluster = one_node("a100-sxm4-80gb");
  const KernelTime t = linear(4096, 4096, 4096)
                           .time(*make_analytic_cost(cluster, Precision::bf16), gemm_shape(4096, 4096, 4096));
  EXPECT_EQ(t.origin, Origin::modelled);
  EXPECT_EQ(t.log_low, cluster.gpu.fit(KernelClass::gemm).residual_low);
  EXPECT_EQ(t.log_high, cluster.gpu.fit(KernelClass::gemm).residual_high);
  EXPECT_NEAR(t.time.seconds(), 137.4e9 / (0.75 * 312e12), 60e-6);
}

TEST(AnalyticCost, PrecisionChoosesThePeak) {
  const auto seconds = [](Precision precision) {
    return linear(8192, 8192, 8192)
        .time(*make_analytic_cost(one_node("a100-sxm4-80gb"), precision), gemm_shape(8192, 8192, 8192))
        .time.seconds();
  };
  EXPECT_NEAR(seconds(Precision::fp32) / seconds(Precision::fp16), 16.0, 1.0);
  EXPECT_NEAR(seconds(Precision::fp32) / seconds(Precision::tf32), 8.0, 0.5);
}

// Scenarios refuse it: there is no other precision that it could mean.
TEST(AnalyticCost, APrecisionThatTheGpuLacksIsNotReplaced) {
  EXPECT_THROW(make_analytic_cost(one_node("v100-sxm2-16gb"), Precision::bf16), InternalError);
  EXPECT_THROW(make_analytic_cost(one_node("a100-sxm4-80gb"), Precision::fp8), InternalError);
}

TEST(AnalyticCost, AccumulatingInFp32CostsTheTraffic) {
  const auto cost = make_analytic_cost(one_node("a100-sxm4-80gb"), Precision::bf16);
  OneOp accumulate(OpKind::gemm);
  accumulate.with(Role::dy, 512, 8192, Access::read)
      .with(Role::x, 512, 8192, Access::read)
      .with(Role::dw, 8192, 8192, Access::update, DataType::fp32);
  const KernelShape shape = gemm_shape(8192, 8192, 512);
  EXPECT_GT(accumulate.time(*cost, shape).time, linear(8192, 8192, 512).time(*cost, shape).time);
}

TEST(AnalyticCost, FusedAttentionBeatsSeparateKernels) {
  const auto cost = make_analytic_cost(one_node("a100-sxm4-80gb"), Precision::bf16);
  KernelShape shape;
  shape.batch = 1;
  shape.sequence = 2048;
  shape.heads = shape.kv_heads = 16;
  shape.head_dim = 128;
  const std::int64_t rows = 2048, columns = 16 * 128, square = 16 * 2048;
  OneOp fused(OpKind::attention_forward), scores(OpKind::attention_scores), softmax(OpKind::softmax_forward),
      context(OpKind::attention_context);
  for (const Role role : {Role::q, Role::k, Role::v}) fused.with(role, rows, columns, Access::read);
  fused.with(Role::o, rows, columns, Access::write);
  scores.with(Role::q, rows, columns, Access::read)
      .with(Role::k, rows, columns, Access::read)
      .with(Role::y, square, 2048, Access::write);
  softmax.with(Role::x, square, 2048, Access::read).with(Role::y, square, 2048, Access::write);
  context.with(Role::x, square, 2048, Access::read)
      .with(Role::v, rows, columns, Access::read)
      .with(Role::o, rows, columns, Access::write);
  const Duration separate =
      scores.time(*cost, shape).time + softmax.time(*cost, shape).time + context.time(*cost, shape).time;
  EXPECT_LT(fused.time(*cost, shape).time, separate);
}

// 108 elements are 216 bytes, no multiple of 16: such batches run on the CUDA cores.
TEST(AnalyticCost, MisalignedHeadsRunOnTheCudaCores) {
  const hardware::Cluster cluster = one_node("a100-sxm4-80gb");
  const auto cost = make_analytic_cost(cluster, Precision::fp16);
  const auto seconds = [&](std::int32_t head_dim) {
    KernelShape shape;
    shape.batch = 2;
    shape.sequence = 2048;
    shape.heads = shape.kv_heads = 32;
    shape.head_dim = head_dim;
    OneOp scores(OpKind::attention_scores);
    scores.with(Role::q, 4096, 32 * head_dim, Access::read).with(Role::k, 4096, 32 * head_dim, Access::read);
    scores.with(Role::y, 64 * 2048, 2048, Access::write);
    return scores.time(*cost, shape).time.seconds();
  };
  EXPECT_LT(seconds(104), seconds(112));
  EXPECT_GT(seconds(108), 4.0 * seconds(112));
}

TEST(StackCost, StretchesTheKernelsOfAClass) {
  hardware::SoftwareStack stack;
  stack.longer = {2.0, 1.0, 1.0, 0.5};
  const hardware::Cluster cluster = one_node("a100-sxm4-80gb");
  const auto plain = make_analytic_cost(cluster, Precision::bf16);
  const StackCost scaled(make_analytic_cost(cluster, Precision::bf16), stack);
  const KernelShape shape = gemm_shape(4096, 4096, 4096);
  const OneOp product = linear(4096, 4096, 4096);
  EXPECT_NEAR(product.time(scaled, shape).time.seconds(), 2.0 * product.time(*plain, shape).time.seconds(), 1e-9);
  OneOp add(OpKind::add);
  add.with(Role::x, 4096, 4096, Access::read).with(Role::y, 4096, 4096, Access::write);
  EXPECT_NEAR(add.time(scaled).time.seconds(), 0.5 * add.time(*plain).time.seconds(), 1e-9);
  OneOp copy(OpKind::copy_to_host);
  copy.with(Role::x, 1024, 1024, Access::read).with(Role::y, 1024, 1024, Access::write);
  EXPECT_EQ(copy.time(scaled).time, copy.time(*plain).time);
}

TEST(AnalyticCost, HostWorkAndCopies) {
  hardware::Cluster cluster = one_node("a100-sxm4-80gb");
  cluster.node.pcie_switches = cluster.node.gpus;
  const auto pinned = make_analytic_cost(cluster, Precision::bf16),
             pageable = make_analytic_cost(cluster, Precision::bf16, false);
  OneOp copy(OpKind::copy_to_host);
  copy.with(Role::x, 1024, 1 << 20, Access::read).with(Role::y, 1024, 1 << 20, Access::write);
  EXPECT_NEAR(copy.time(*pinned).time.seconds(), 2.0 * (1 << 30) / 24e9, 1e-4);
  EXPECT_GT(copy.time(*pageable).time.seconds(), 1.5 * copy.time(*pinned).time.seconds());
  EXPECT_EQ(OneOp(OpKind::host_wait).time(*pinned).time, Duration());
  EXPECT_EQ(OneOp(OpKind::host_wait).time(*pinned).origin, Origin::exact);
  EXPECT_THROW(OneOp(OpKind::all_reduce).time(*pinned), InternalError);
}

}  // namespace
}  // namespace orrery::sim
