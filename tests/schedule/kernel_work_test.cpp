// FLOPs and bytes against numbers worked out by hand.
#include "schedule/kernel_work.h"

#include <gtest/gtest.h>

#include "tests/schedule/small_program.h"

namespace orrery::schedule {
namespace {

struct OneOp {
  SmallProgram p;
  explicit OneOp(std::initializer_list<Buffer> buffers) {
    for (const Buffer& b : buffers) p.buffer(b);
    p.block("b", {{BufferId(0)}, {BufferId(1)}, {BufferId(2)}});
  }
  KernelWork work(const KernelShape& shape) const { return work_of(p.program, p.program.ops.back(), shape); }
  Bytes message() const { return message_bytes(p.program, p.program.ops.back()); }
};

OneOp three_buffers() {
  return OneOp({{.name = "a", .type = DataType::bf16, .elements = 64},
                {.name = "b", .type = DataType::bf16, .elements = 32},
                {.name = "c", .type = DataType::fp32, .elements = 128}});
}

TEST(KernelWork, GemmIsTwoMnkAndReadsEachOperandOnce) {
  OneOp one = three_buffers();  // y [16 x 8] = x [16 x 4] w^T [8 x 4]
  one.p.op(OpKind::gemm, Phase::forward,
           {{.formal = 0, .role = Role::x},
            {.formal = 1, .role = Role::w},
            {.formal = 2, .role = Role::y, .access = Access::write}});
  const KernelWork w = one.work({.m = 16, .n = 8, .k = 4});
  EXPECT_EQ(w.flops.value(), 2 * 16 * 8 * 4);
  EXPECT_EQ(w.model_flops.value(), 2 * 16 * 8 * 4);
  EXPECT_EQ(w.square.value(), 0);
  EXPECT_EQ(w.read.count(), (64 + 32) * 2);
  EXPECT_EQ(w.written.count(), 128 * 4);
}

TEST(KernelWork, RecomputationIsExecutedButIsNoModelWork) {
  OneOp one = three_buffers();
  one.p.op(OpKind::gemm, Phase::recompute, {{.formal = 2, .role = Role::y, .access = Access::update}});
  const KernelWork w = one.work({.m = 16, .n = 8, .k = 4});
  EXPECT_EQ(w.flops.value(), 1024);
  EXPECT_EQ(w.model_flops.value(), 0);
  EXPECT_EQ(w.read.count(), 512);  // an update reads and writes
  EXPECT_EQ(w.written.count(), 512);
}

TEST(KernelWork, FusedAttentionExecutesHalfTheSquareAndFiveProductsBackward) {
  const KernelShape shape{.batch = 2, .sequence = 8, .heads = 4, .kv_heads = 4, .head_dim = 16};
  const double product = 2.0 * 8 * 8 * 16 * 4 * 2;
  OneOp one = three_buffers();
  one.p.op(OpKind::attention_forward, Phase::forward, {});
  KernelWork w = one.work(shape);
  EXPECT_EQ(w.flops.value(), product);            // 2 products, half of each
  EXPECT_EQ(w.model_flops.value(), 2 * product);  // in full
  EXPECT_EQ(w.square.value(), 2 * product);
  one.p.op(OpKind::attention_backward, Phase::backward, {});
  w = one.work(shape);
  EXPECT_EQ(w.flops.value(), 2.5 * product);
  EXPECT_EQ(w.model_flops.value(), 4 * product);
}

TEST(KernelWork, SeparateAttentionExecutesTheFullSquare) {
  const KernelShape shape{.batch = 2, .sequence = 8, .heads = 4, .kv_heads = 4, .head_dim = 16};
  const double product = 2.0 * 8 * 8 * 16 * 4 * 2;
  double forward = 0, backward = 0;
  for (const OpKind kind : {OpKind::attention_scores, OpKind::attention_context}) {
    OneOp one = three_buffers();
    one.p.op(kind, Phase::forward, {});
    EXPECT_EQ(one.work(shape).flops.value(), product);
    forward += one.work(shape).square.value();
  }
  for (const OpKind kind : {OpKind::attention_dprobabilities, OpKind::attention_dvalue,
                            OpKind::attention_dquery, OpKind::attention_dkey}) {
    OneOp one = three_buffers();
    one.p.op(kind, Phase::backward, {});
    backward += one.work(shape).model_flops.value();
  }
  EXPECT_EQ(forward, 2 * product);
  EXPECT_EQ(backward, 4 * product);
}

TEST(KernelWork, AnEmbeddingReadsOnlyTheRowsItLooksUp) {
  OneOp one({{.name = "tokens", .type = DataType::int32, .elements = 4},
             {.name = "table", .type = DataType::bf16, .elements = 100'000},
             {.name = "y", .type = DataType::bf16, .elements = 4 * 8}});
  one.p.op(OpKind::embedding_forward, Phase::forward,
           {{.formal = 0, .role = Role::tokens},
            {.formal = 1, .role = Role::w},
            {.formal = 2, .role = Role::y, .access = Access::write}});
  EXPECT_EQ(one.work({}).read.count(), 4 * 4 + 4 * 8 * 2);
  EXPECT_EQ(one.work({}).written.count(), 4 * 8 * 2);
}

TEST(MessageBytes, CountsTheGatheredSizeOfCollectives) {
  OneOp one = three_buffers();
  const View shard{.formal = 1, .role = Role::x}, full{.formal = 0, .role = Role::y, .access = Access::write};
  one.p.op(OpKind::all_gather, Phase::forward, {shard, full});
  EXPECT_EQ(one.message().count(), 128);
  one.p.op(OpKind::reduce_scatter, Phase::forward,
           {{.formal = 0, .role = Role::x}, {.formal = 1, .role = Role::y, .access = Access::write}});
  EXPECT_EQ(one.message().count(), 128);
  one.p.op(OpKind::all_reduce, Phase::forward,
           {{.formal = 0, .role = Role::y, .access = Access::update},
            {.formal = 2, .role = Role::y, .access = Access::update}});
  EXPECT_EQ(one.message().count(), 128 + 512);
  one.p.op(OpKind::send, Phase::forward, {{.formal = 1, .role = Role::x}});
  EXPECT_EQ(one.message().count(), 64);
}

TEST(KernelWork, BlockOfFindsTheBlockOfEveryOp) {
  SmallProgram p;
  p.buffer({.name = "a", .elements = 4});
  p.block("empty", {});
  p.block("first", {{BufferId(0)}});
  p.op(OpKind::fill, Phase::forward, {});
  p.op(OpKind::fill, Phase::forward, {});
  p.block("second", {{BufferId(0)}});
  p.op(OpKind::fill, Phase::forward, {});
  EXPECT_EQ(p.program.block_of(p.program.ops[0]).name, "first");
  EXPECT_EQ(p.program.block_of(p.program.ops[1]).name, "first");
  EXPECT_EQ(p.program.block_of(p.program.ops[2]).name, "second");
  const Op copy = p.program.ops[0];
  EXPECT_THROW(p.program.block_of(copy), InternalError);
}

}  // namespace
}  // namespace orrery::schedule
