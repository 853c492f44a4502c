// Context parallelism: what is solved, and each refusal with its reason and what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/scenario_text.h"

namespace orrery::scenarios {
namespace {

using ::testing::HasSubstr;
using testing::Parts;
using testing::read;
using testing::Read;

void expect_one_error(const Parts& parts, const std::string& message, const std::string& hint) {
  const Read r = read(parts);
  EXPECT_EQ(r.errors(), 1U) << r.text();
  EXPECT_THAT(r.text(), HasSubstr(message));
  EXPECT_THAT(r.text(), HasSubstr(hint));
}

TEST(ContextParallelism, IsSolved) {
  const Read ring = read(Parts{.parallel = R"("tp": 2, "cp": 4, "zero": 1)"});
  ASSERT_EQ(ring.text(), "");
  EXPECT_EQ(ring.scenario.parallel.dp, 4);
  EXPECT_EQ(ring.scenario.parallel.world(), 32);
  EXPECT_EQ(ring.scenario.parallel.replicas(), 16);
  EXPECT_EQ(ring.scenario.parallel.cp_stride, 2);
  EXPECT_EQ(ring.scenario.parallel.dp_stride, 8);
  EXPECT_EQ(ring.scenario.parallel.context_method, ContextMethod::ring);
  EXPECT_EQ(ring.scenario.parallel.ulysses, 1);
  EXPECT_EQ(ring.scenario.training.microbatches, 16);
  const Read ulysses = read(Parts{.parallel = R"("cp": 4, "cp_method": "ulysses")"});
  ASSERT_EQ(ulysses.text(), "");
  EXPECT_EQ(ulysses.scenario.parallel.ulysses, 4);
  EXPECT_EQ(read(Parts{.framework = "deepspeed", .parallel = R"("cp": 2)"}).scenario.parallel.context_method,
            ContextMethod::ulysses);
}

TEST(ContextRule, DividesTheRanks) {
  expect_one_error(Parts{.parallel = R"("tp": 2, "pp": 2, "cp": 3)"},
                   "cp=3 does not divide the 8 ranks that tp=2 x pp=2 leave of the cluster's 32 GPUs (4 x 8)", "use cp 2 or 4");
  EXPECT_THAT(read(Parts{.parallel = R"("tp": 2, "cp": 2, "dp": 4)"}).text(),
              HasSubstr("tp=2 x cp=2 x pp=1 x dp=4 is 16 ranks"));
}

TEST(ContextRule, Hybrid) {
  expect_one_error(Parts{.parallel = R"("cp": 8, "cp_method": "hybrid")"},
                   "cp_method hybrid divides cp=8 into ulysses x ring, both larger than 1, but ulysses is 1", "use ulysses 2 or 4");
  expect_one_error(Parts{.parallel = R"("cp": 2, "cp_method": "hybrid", "ulysses": 2)"}, "but ulysses is 2",
                   "a cp that is no prime");
  expect_one_error(Parts{.parallel = R"("cp": 8, "ulysses": 2)"}, "ulysses=2, but with cp_method ring and cp=8 it is 1",
                   "use cp_method \"hybrid\"");
  EXPECT_EQ(read(Parts{.parallel = R"("cp": 8, "cp_method": "hybrid", "ulysses": 4)"}).text(), "");
}

TEST(ContextRule, SequenceLength) {
  const auto of = [](const char* parallel, int length) {
    return Parts{.parallel = parallel,
                 .training = R"("global_batch": 64, "micro_batch": 1, "sequence_length": )" + std::to_string(length)};
  };
  expect_one_error(of(R"("cp": 4)", 1020), "sequence_length=1020 is no multiple of 8: cp=4 cuts it (2 chunks a member of the ring",
                   "use 1016 or 1024");
  expect_one_error(of(R"("cp": 4, "cp_method": "ulysses")", 1022), "is no multiple of 4: cp=4 cuts it (one part a rank)",
                   "use 1020 or 1024");
  expect_one_error(of(R"("cp": 2, "tp": 8, "sp": true)", 1000), "is no multiple of 16: cp=2 x tp=8 (sp is on) cuts it", "992 or 1008");
  EXPECT_EQ(read(of(R"("cp": 4, "cp_method": "ulysses")", 1020)).text(), "");
}

TEST(ContextRule, HeadsAreExchangedWhole) {
  expect_one_error(Parts{.kv_heads = 4, .parallel = R"("cp": 8, "cp_method": "ulysses")"},
                   "ulysses=8 exchanges heads, but a tensor rank has 32 heads and 4 key/value heads", "use cp 4");
  expect_one_error(Parts{.kv_heads = 8, .parallel = R"("tp": 4, "cp": 8, "cp_method": "hybrid", "ulysses": 4)"},
                   "ulysses=4 exchanges heads, but a tensor rank has 8 heads and 2 key/value heads", "use ulysses 2");
  expect_one_error(Parts{.kv_heads = 1, .parallel = R"("cp": 2, "cp_method": "ulysses")"}, "1 key/value heads",
                   "use cp_method \"ring\"");
}

TEST(ContextRule, FusedAttention) {
  expect_one_error(Parts{.parallel = R"("cp": 2)", .rest = R"("kernels": { "fused_attention": false })"},
                   "cp=2 needs fused attention", "set kernels.fused_attention to true");
}

TEST(TensorChunksRule, DivideTheRowsOfARank) {
  expect_one_error(Parts{.parallel = R"("tp": 8, "sp": true)", .rest = R"("overlap": { "tensor_chunks": 3 })"},
                   "tensor_chunks=3 does not divide the 128 positions of a rank (sequence_length=1024 / 8)", "use 2 or 4");
  EXPECT_EQ(read(Parts{.parallel = R"("tp": 8, "sp": true)", .rest = R"("overlap": { "tensor_chunks": 4 })"}).text(), "");
}

TEST(TensorChunksRule, SequentialBlocks) {
  expect_one_error(Parts{.model = R"("models/zoo/falcon-40b.json")", .parallel = R"("tp": 8)", .rest = R"("overlap": { "tensor_chunks": 2 })"},
                   "which are not cut into chunks", "set tensor_chunks to 1");
}

TEST(ContextRule, Order) {
  expect_one_error(Parts{.parallel = R"("cp": 2, "pp": 2, "order": "tp-cp-pp-dp")"},
                   "gradients are summed over the ranks of dp x cp", "name cp right before dp");
  EXPECT_EQ(read(Parts{.parallel = R"("cp": 2, "pp": 2, "order": "tp-pp-dp-cp")"}).text(), "");
}

TEST(ContextRule, Frameworks) {
  expect_one_error(Parts{.framework = "ddp", .parallel = R"("cp": 2)"}, "framework ddp is data parallel only, but cp=2", "set it to 1");
  expect_one_error(Parts{.framework = "deepspeed", .parallel = R"("cp": 2, "cp_method": "ring")"},
                   "DeepSpeed's sequence parallelism exchanges heads (Ulysses), but cp_method is ring", "use cp_method \"ulysses\"");
  expect_one_error(Parts{.framework = "deepspeed", .parallel = R"("cp": 2, "pp": 2)"},
                   "DeepSpeed has no pipeline with sequence parallelism", "set cp or pp to 1");
}

}  // namespace
}  // namespace orrery::scenarios
