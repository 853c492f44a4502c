// Products in chunks of rows beside tensor-parallel collectives: the work stays the same, and chunks do not wait for one
// another's.
#include <gtest/gtest.h>

#include <algorithm>

#include "schedule/compile.h"
#include "schedule/kernel_work.h"
#include "schedule/verify.h"
#include "tests/schedule/small_scenarios.h"

namespace orrery::schedule {
namespace {

Schedule compiled(std::int64_t chunks, bool sequence_parallel, bool backward = true) {
  scenarios::Scenario s = small_scenario(llama_style(2), {.tp = 2, .sequence_parallel = sequence_parallel});
  s.overlap.tensor_chunks = chunks;
  s.overlap.tensor_backward = backward;
  return compile(s);
}

struct Totals {
  std::int64_t bytes = 0, products = 0;
  double flops = 0.0;
  bool operator==(const Totals& other) const { return bytes == other.bytes && flops == other.flops; }
};

Totals totals(const Schedule& s) {
  Totals t;
  const Program& p = s.programs.front();
  for_each_call(p, ~0U, [&](const Call& call, std::uint32_t, std::uint32_t) {
    for (const Op& op : p.ops_of(p.block(call))) {
      if (is_collective(op.kind) && op.group == kTensor) t.bytes += message_bytes(p, op).count();
      if (op.kind != OpKind::gemm) continue;
      ++t.products;
      t.flops += work_of(p, op, s.shapes[op.shape]).flops.value();
    }
  });
  return t;
}

TEST(TensorChunks, DoTheSameWork) {
  for (const bool sequence_parallel : {false, true}) {
    const Totals one = totals(compiled(1, sequence_parallel)), four = totals(compiled(4, sequence_parallel));
    EXPECT_TRUE(one == four) << sequence_parallel;
    // Of two layers and microbatches: 2 products behind which rows are reduced, and 2 + 2 before which they are gathered.
    const std::int64_t cut = sequence_parallel ? 6 : 2;
    EXPECT_EQ(four.products, one.products + 2 * 2 * cut * 3);
  }
}

TEST(TensorChunks, AreSound) {
  for (const std::int64_t chunks : {1, 2, 4})
    for (const bool sequence_parallel : {false, true})
      for (const bool backward : {false, true}) {
        const auto findings = verify(compiled(chunks, sequence_parallel, backward));
        EXPECT_TRUE(findings.empty()) << findings.front().message;
      }
}

// In layer.forward, the i-th gather waits for no product, and the i-th product for the i-th gather alone: its wait follows
// that gather, and the next gather comes behind it in the order of issue.
TEST(TensorChunks, TravelBesideProducts) {
  const Schedule s = compiled(4, true);
  const Program& p = s.programs.front();
  const auto block = std::find_if(p.blocks.begin(), p.blocks.end(), [](const Block& b) { return b.name == "layer.forward"; });
  ASSERT_NE(block, p.blocks.end());
  int gathers = 0, products = 0;
  for (const Op& op : p.ops_of(*block)) {
    if (op.kind == OpKind::all_gather) {
      EXPECT_EQ(op.stream, Stream::tensor);
      EXPECT_LE(op.wait_count, gathers % 4 == 0 ? 1 : 0) << gathers;  // the first: for what it gathers
      ++gathers;
    }
    if (op.kind == OpKind::reduce_scatter) {
      EXPECT_EQ(op.wait_count, 1);
      ++products;
    }
  }
  EXPECT_EQ(gathers, 8);
  EXPECT_EQ(products, 8);
}

}  // namespace
}  // namespace orrery::schedule
