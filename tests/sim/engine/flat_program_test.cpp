// Unrolled programs: which record a wait refers to, runs, slots of channels, what a cut leaves.
#include "sim/engine/flat_program.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "sim/engine/meeting_slots.h"
#include "tests/sim/engine/small_schedule.h"

namespace orrery::sim::test {
namespace {

using engine::FlatOp;
using engine::FlatProgram;
using schedule::Stream;

FlatProgram flatten_first(const schedule::Schedule& s, std::int64_t skip = 0) {
  return engine::flatten(s, engine::collect_messages(s), engine::find_cut(s), skip).front();
}
const FlatOp& op_at(const FlatProgram& flat, Stream stream, std::uint32_t position) {
  return flat.ops[flat.first[static_cast<std::size_t>(stream)] + position];
}
std::vector<std::int32_t> targets(const FlatProgram& flat, const FlatOp& op) {
  std::vector<std::int32_t> list;
  for (std::uint32_t w = op.first_wait; w < op.first_wait + op.waits; ++w)
    list.push_back(flat.waits[w].target);
  return list;
}

TEST(FlatProgram, AWaitRefersToTheLastRecordBeforeIt) {
  schedule::Schedule s = empty_schedule({});
  ProgramBuilder b(s);
  const std::uint32_t token = b.token(2);
  b.block("step");
  const std::uint16_t event = b.formal(token, 0), never = b.formal(token, 1);
  b.kernel(1).wait(event);  // last step's second copy
  b.copy(1).record(event);
  b.kernel(1).wait(event).wait(never);  // the first copy
  b.copy(1).record(event);
  b.kernel(1).wait(event).wait(event);  // the second copy
  b.kernel(1).wait(event);              // known to be over
  b.call(0);
  const FlatProgram flat = flatten_first(s);
  EXPECT_EQ(targets(flat, op_at(flat, Stream::compute, 0)), std::vector<std::int32_t>{0});  // 2 - length 2
  EXPECT_EQ(targets(flat, op_at(flat, Stream::compute, 1)), std::vector<std::int32_t>{1});
  EXPECT_EQ(targets(flat, op_at(flat, Stream::compute, 2)), std::vector<std::int32_t>{2});
  EXPECT_TRUE(targets(flat, op_at(flat, Stream::compute, 3)).empty());
}

// Two slots: iteration i waits for the copy of iteration i - 2, the first two for those of the step before.
TEST(FlatProgram, SlotsAreReusedByLaterMicrobatches) {
  schedule::Schedule s = empty_schedule({});
  ProgramBuilder b(s, 2);
  const std::uint32_t token = b.token(2);
  b.block("iteration");
  const std::uint16_t event = b.formal(token, 0, 1);
  b.kernel(1).wait(event);
  b.copy(1).record(event);
  b.repeat(0, 1, 6);
  b.call(0, 0, 1);
  const FlatProgram flat = flatten_first(s);
  std::vector<std::int32_t> seen;
  for (std::uint32_t i = 0; i < 6; ++i)
    for (const std::int32_t t : targets(flat, op_at(flat, Stream::compute, i))) seen.push_back(t);
  EXPECT_EQ(seen, (std::vector<std::int32_t>{-1, 0, 1, 2, 3, 4}));
}

TEST(FlatProgram, GroupedOpsAreOneRunWithAllTheirWaits) {
  schedule::Schedule s = empty_schedule({.pp = 2});
  for (int stage = 0; stage < 2; ++stage) {
    ProgramBuilder b(s);
    const std::uint32_t token = b.token();
    b.block("step");
    const std::uint16_t event = b.formal(token);
    b.copy(1).record(event);
    b.send(stage == 0 ? 1 : -1, 4, Stream::compute, stage).grouped();
    b.recv(stage == 0 ? 1 : -1, 4, Stream::compute, 1 - stage).wait(event);
    b.kernel(1);
    b.call(0);
  }
  const FlatProgram flat = flatten_first(s);
  EXPECT_EQ(op_at(flat, Stream::compute, 0).run, 2);
  EXPECT_EQ(op_at(flat, Stream::compute, 0).host, 2);  // issued with its last op
  EXPECT_EQ(targets(flat, op_at(flat, Stream::compute, 0)), std::vector<std::int32_t>{1});
  EXPECT_EQ(op_at(flat, Stream::compute, 2).run, 1);
}

TEST(FlatProgram, ChannelsHaveOneSlotUnlessSeveralMeetingsCanBeOpen) {
  for (const bool grouped : {false, true}) {
    schedule::Schedule s = empty_schedule({.tp = 2});
    ProgramBuilder b(s);
    b.block("step");
    b.message(schedule::OpKind::all_reduce, schedule::kTensor, 4, Stream::tensor);
    if (grouped) b.grouped();
    b.message(schedule::OpKind::all_reduce, schedule::kTensor, 4, Stream::tensor);
    b.message(schedule::OpKind::all_reduce, schedule::kTensor, 4, Stream::tensor);
    b.call(0);
    const engine::Messages messages = engine::collect_messages(s);
    std::vector<FlatProgram> flats = engine::flatten(s, messages, engine::find_cut(s), 0);
    EXPECT_EQ(engine::choose_slots(messages, flats), std::vector<std::uint32_t>{grouped ? 3U : 1U});
    for (std::uint32_t i = 0; i < 3; ++i)
      EXPECT_EQ(op_at(flats[0], Stream::tensor, i).slot, grouped ? i : 0U);
  }
}

// Cutting a pipeline by n iterations leaves exactly the schedule of n microbatches fewer: the same ops, in
// the same order, with the same waits.
TEST(FlatProgram, ACutIsTheScheduleOfFewerMicrobatches) {
  for (const bool all_forwards_first : {false, true}) {
    const auto make = [&](std::int64_t m) {
      return all_forwards_first ? gpipe(3, m, 10, 20, 5) : one_f_one_b(3, m, 10, 20, 5);
    };
    const schedule::Schedule longer = make(40), shorter = make(29);
    const auto a = engine::flatten(longer, engine::collect_messages(longer), engine::find_cut(longer), 11);
    const auto b = engine::flatten(shorter, engine::collect_messages(shorter), engine::find_cut(shorter), 0);
    for (std::size_t p = 0; p < 3; ++p) {
      ASSERT_EQ(a[p].ops.size(), b[p].ops.size());
      for (std::size_t i = 0; i < a[p].ops.size(); ++i) {
        EXPECT_EQ(a[p].ops[i].op, b[p].ops[i].op);
        EXPECT_EQ(a[p].ops[i].host, b[p].ops[i].host);
        EXPECT_EQ(a[p].origins[i].microbatch, b[p].origins[i].microbatch);
        EXPECT_EQ(targets(a[p], a[p].ops[i]), targets(b[p], b[p].ops[i]));
      }
    }
  }
}

// The number of a cut repeat is kept in a byte.
TEST(FlatProgram, MoreCutLoopsThanCanBeMarkedAreNotForgotten) {
  const auto with_loops = [](std::uint32_t loops) {
    schedule::Schedule s = empty_schedule({});
    ProgramBuilder b(s);
    b.block("iteration");
    b.kernel(1);
    for (std::uint32_t i = 0; i < loops; ++i) {
      b.repeat(i, 1, 6);
      b.call(0, 6 * i, 1);
    }
    return s;
  };
  EXPECT_NO_THROW(flatten_first(with_loops(255), 1));
  EXPECT_THROW(flatten_first(with_loops(256), 1), InternalError);
  EXPECT_NO_THROW(flatten_first(with_loops(256), 0));
}

}  // namespace
}  // namespace orrery::sim::test
