// Live bytes follow the host issue order, and the closed form over repeats equals the unrolled walk.
#include "schedule/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/schedule/small_program.h"

namespace orrery::schedule {
namespace {

std::int64_t unrolled_peak(const Program& program) {
  std::int64_t top = 0;
  for (const MemoryStep& step : memory_timeline(program, 0xffffffffU)) top = std::max(top, step.live);
  return top;
}

// One persistent buffer of 1000 B, an activation of 512 B for each microbatch, a workspace of 3 B inside both
// blocks.
Program two_phase_program(std::uint32_t count) {
  SmallProgram p;
  const BufferId weights = p.buffer({.name = "w",
                                     .kind = BufferKind::weight,
                                     .type = DataType::byte,
                                     .persistent = true,
                                     .elements = 1000,
                                     .instances = 2});
  const BufferId act = p.buffer({.name = "act", .type = DataType::byte, .elements = 512, .instances = count});
  const BufferId work =
      p.buffer({.name = "work", .kind = BufferKind::workspace, .type = DataType::byte, .elements = 3});
  p.block("forward", {{weights}, {act, 0, 0, 1}, {work}});
  p.op(OpKind::fill, Phase::forward, {{.formal = 1, .access = Access::write, .allocates = true}});
  p.op(OpKind::cast, Phase::forward,
       {{.formal = 0}, {.formal = 2, .access = Access::write, .allocates = true, .frees = true}});
  p.block("backward", {{act, 0, 0, 1}});
  p.op(OpKind::add, Phase::backward, {{.formal = 0, .frees = true}});
  p.repeat(count, {{BlockId(0), 0, 0, 1}});
  p.repeat(count, {{BlockId(1), 0, 0, 1}});
  p.program.slots = count;
  return p.program;
}

TEST(Memory, PersistentBuffersLiveFromTheStartAndAreRounded) {
  const MemoryPeak peak = memory_peak(two_phase_program(1));
  // 2 x 1024 persistent + 512 activation + 512 workspace.
  EXPECT_EQ(peak.peak.count(), 2 * 1024 + 512 + 512);
  EXPECT_EQ(peak.peak_of_phase[static_cast<std::size_t>(Phase::setup)].count(), 2 * 1024);
  EXPECT_EQ(peak.peak_of_phase[static_cast<std::size_t>(Phase::backward)].count(), 2 * 1024 + 512);
}

TEST(Memory, PeakOfALoopIsInItsLastIteration) {
  const MemoryPeak peak = memory_peak(two_phase_program(7));
  EXPECT_EQ(peak.peak.count(), 2 * 1024 + 7 * 512 + 512);
  EXPECT_EQ(peak.phase, Phase::forward);
  EXPECT_EQ(peak.block, "forward");
  EXPECT_EQ(peak.microbatch, 6U);
  EXPECT_EQ(peak.by_kind[static_cast<std::size_t>(BufferKind::activation)].count(), 7 * 512);
  EXPECT_EQ(peak.by_kind[static_cast<std::size_t>(BufferKind::workspace)].count(), 512);
  ASSERT_EQ(peak.items.size(), 3U);
  EXPECT_EQ(peak.items[0].buffer, "act");
  EXPECT_EQ(peak.items[1].buffer, "w");
}

TEST(Memory, ThirtyThousandIterationsAreNotUnrolled) {
  const MemoryPeak peak = memory_peak(two_phase_program(2'000'000'000));
  EXPECT_EQ(peak.peak.count(), 2 * 1024 + 2'000'000'000LL * 512 + 512);
  EXPECT_EQ(peak.microbatch, 1'999'999'999U);
}

TEST(Memory, HostBuffersAreCountedApart) {
  SmallProgram p;
  const BufferId pinned =
      p.buffer({.name = "pinned", .type = DataType::fp32, .on_host = true, .elements = 100});
  p.block("b", {{pinned}});
  p.op(OpKind::copy_to_host, Phase::forward,
       {{.formal = 0, .role = Role::y, .access = Access::write, .allocates = true, .frees = true}});
  p.call({BlockId(0)});
  const MemoryPeak peak = memory_peak(p.program);
  EXPECT_EQ(peak.peak.count(), 0);
  EXPECT_EQ(peak.host_peak.count(), 512);
  EXPECT_TRUE(peak.items.empty());
}

TEST(Memory, TimelineShowsAllocationAndFreeOfOneOp) {
  const std::vector<MemoryStep> steps = memory_timeline(two_phase_program(1), 1);
  std::vector<std::pair<std::uint32_t, std::int64_t>> got;
  for (const MemoryStep& s : steps) got.emplace_back(s.host_index, s.live - 2048);
  EXPECT_THAT(got, testing::ElementsAre(testing::Pair(0, 0), testing::Pair(0, 512), testing::Pair(1, 1024),
                                        testing::Pair(1, 512), testing::Pair(2, 0)));
}

// Random programs: blocks that allocate and free at random (not sound, but the arithmetic does not care).
TEST(Memory, ClosedFormEqualsTheUnrolledWalk) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<std::uint32_t>(random() % n); };
    SmallProgram p;
    for (int b = 0; b < 4; ++b)
      p.buffer({.name = "b" + std::to_string(b),
                .type = DataType::byte,
                .persistent = b == 0,
                .elements = 1 + below(3000),
                .instances = 3});
    for (int block = 0; block < 4; ++block) {
      p.block("block" + std::to_string(block), {{BufferId(1)}, {BufferId(2)}, {BufferId(3)}});
      for (std::uint32_t i = 0, n = 1 + below(4); i < n; ++i)
        p.op(OpKind::add, static_cast<Phase>(below(kPhases)),
             {{.formal = static_cast<std::uint16_t>(below(3)),
               .allocates = below(3) == 0,
               .frees = below(4) == 0}});
    }
    for (std::uint32_t r = 0; r < 4; ++r) {
      if (below(2) == 0) p.call({BlockId(below(4))});
      p.repeat(1 + below(6), {{BlockId(below(4))}, {BlockId(below(4))}});
    }
    const MemoryPeak peak = memory_peak(p.program);
    ASSERT_EQ(peak.peak.count(), unrolled_peak(p.program)) << "seed " << seed;
    std::int64_t sum = 0, kinds = 0;
    for (const MemoryPeak::Item& item : peak.items) sum += item.bytes.count();
    for (const Bytes& b : peak.by_kind) kinds += b.count();
    ASSERT_EQ(sum, peak.peak.count()) << "seed " << seed;
    ASSERT_EQ(kinds, peak.peak.count()) << "seed " << seed;
    ASSERT_EQ(*std::max_element(peak.peak_of_phase.begin(), peak.peak_of_phase.end()), peak.peak);
  }
}

}  // namespace
}  // namespace orrery::schedule
