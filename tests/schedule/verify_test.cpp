// Small schedules, written in the text form, each sound or wrong in one known way.
#include "schedule/verify.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "schedule/memory.h"
#include "schedule/text.h"
#include "schedule/verify/walk.h"

namespace orrery::schedule {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Schedule parsed(const std::string& text) {
  Diagnostics diagnostics;
  Schedule s = parse(std::make_shared<const SourceFile>(SourceFile{"test.schedule", text}), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.text();
  return s;
}

std::string findings_of(const Schedule& schedule, const VerifyOptions& options = {}) {
  std::string text;
  for (const Finding& f : verify(schedule, options)) {
    text += f.message + "\n";
    for (const std::string& line : f.lines) text += "    " + line + "\n";
  }
  return text;
}
std::string findings_of(const std::string& text, const VerifyOptions& options = {}) {
  return findings_of(parsed(text), options);
}
constexpr VerifyOptions kBuffered{.sends = SendSemantics::buffered};

// --- deadlock
// -------------------------------------------------------------------------------------------------------

// Two ranks, each sends to the other and then receives from it.
std::string both_send_first(const std::string& grouped) {
  std::string text = "world 2\n";
  for (const char* program : {"left", "right"})
    text += fmt::format(R"(program {} {{
  buffer out bf16[4] persistent
  buffer in bf16[4] persistent
  send x:out to +1 {}
  recv y=in from +1
}}
)",
                        program, grouped);
  return text;
}

TEST(Deadlock, TwoRanksThatBothSendFirst) {
  const std::string findings = findings_of(both_send_first(""));
  EXPECT_THAT(
      findings,
      HasSubstr("deadlock: 2 of 2 ranks cannot finish (rendezvous sends); these wait for each other:"));
  EXPECT_THAT(findings,
              HasSubstr("rank 0: send (send.0, unit 0, microbatch 0) waits for rank 1 to receive it\n"));
  EXPECT_THAT(findings,
              HasSubstr("rank 1: recv (recv.1, unit 0, microbatch 0) waits for its turn on stream compute, "
                        "behind send (send.0, unit 0, microbatch 0)\n"));
  EXPECT_THAT(findings,
              HasSubstr("rank 1: send (send.0, unit 0, microbatch 0) waits for rank 0 to receive it\n"));
}

TEST(Deadlock, GroupedSendsAndReceivesMeet) { EXPECT_EQ(findings_of(both_send_first("grouped")), ""); }

TEST(Deadlock, BufferedSendsDoNotWait) { EXPECT_EQ(findings_of(both_send_first(""), kBuffered), ""); }

// Interleaved 1F1B on two ranks, four stages (0 and 2 on rank 0, 1 and 3 on rank 1), up to the point where
// blocking sends lock up: rank 0 sends stage 0's second microbatch before it receives for stage 2, rank 1
// sends stage 1's first before it receives the second. The site is the stage that a message is for.
std::string four_stages(bool receive_first) {
  const std::string send1 = "send x:a1 to +1 microbatch 1 site 1\n", recv0 = "recv y=b0 from +1 site 2\n";
  const std::string send0 = "send x:b0 to +1 site 2\n", recv1 = "recv y=a1 from +1 microbatch 1 site 1\n";
  return R"(
world 2
microbatches 2
program rank0 {
  buffer a0 bf16[4] persistent
  buffer a1 bf16[4] persistent
  buffer b0 bf16[4] persistent
  fill y=a0
  send x:a0 to +1 site 1
  fill y=a1 microbatch 1
)" + (receive_first ? recv0 + send1 : send1 + recv0) +
         R"(}
program rank1 {
  buffer a0 bf16[4] persistent
  buffer a1 bf16[4] persistent
  buffer b0 bf16[4] persistent
  recv y=a0 from +1 site 1
  add x:a0 y+=b0
)" + send0 +
         recv1 + "}\n";
}

TEST(Deadlock, FourInterleavedStagesWithBlockingSends) {
  const std::string findings = findings_of(four_stages(false));
  EXPECT_THAT(findings, HasSubstr("deadlock: 2 of 2 ranks cannot finish"));
  EXPECT_THAT(findings,
              HasSubstr("rank 0: send (send.3, unit 0, microbatch 1) waits for rank 1 to receive it\n"));
  EXPECT_THAT(findings,
              HasSubstr("rank 1: recv (recv.3, unit 0, microbatch 1) waits for its turn on stream compute, "
                        "behind send (send.2, unit 0, microbatch 0)\n"));
  EXPECT_THAT(findings,
              HasSubstr("rank 1: send (send.2, unit 0, microbatch 0) waits for rank 0 to receive it\n"));
  EXPECT_THAT(findings,
              HasSubstr("rank 0: recv (recv.4, unit 0, microbatch 0) waits for its turn on stream compute, "
                        "behind send (send.3, unit 0, microbatch 1)\n"));
  EXPECT_EQ(findings_of(four_stages(true)), "");
  EXPECT_EQ(findings_of(four_stages(false), kBuffered), "");
}

// Streams of their own untie the knot as well.
TEST(Deadlock, SendsOnTheirOwnStreamDoNotHoldUpReceives) {
  std::string text = both_send_first("on pipe_send_forward");
  for (std::size_t at = 0; (at = text.find("from +1", at)) != std::string::npos; at += 7)
    text.insert(at + 7, " on pipe_recv_forward");
  EXPECT_EQ(findings_of(text), "");
}

TEST(Deadlock, CollectivesInDifferentOrderOnTwoStreams) {
  const auto text = [](bool crossed) {
    return R"(world 2
program one {
  buffer a bf16[4] persistent
  buffer b bf16[4] persistent
  all_reduce y+=a in world on compute record(a)
  all_reduce y+=b in pipe on data wait(a)
}
program two {
  buffer a bf16[4] persistent
  buffer b bf16[4] persistent
)" +
           std::string(crossed
                           ? "  all_reduce y+=b in pipe on data record(b)\n  all_reduce y+=a in world on "
                             "compute wait(b)\n"
                           : "  all_reduce y+=b in pipe on data\n  all_reduce y+=a in world on compute\n") +
           "}\n";
  };
  EXPECT_EQ(findings_of(text(false)), "");
  EXPECT_THAT(findings_of(text(true)),
              HasSubstr("all_reduce (all_reduce.0, unit 0, microbatch 0) waits for rank 1 to join it"));
}

TEST(Deadlock, TheHostThatWaitsForWhatItHasNotIssued) {
  const std::string text = R"(world 2
program a {
  buffer x bf16[4] persistent
  recv y=x from +1 record(x)
  host_wait wait(x)
  send x:x to +1 on tensor
}
program b {
  buffer x bf16[4] persistent
  recv y=x from +1 record(x)
  host_wait wait(x)
  send x:x to +1 on tensor
}
)";
  EXPECT_THAT(findings_of(text, kBuffered), HasSubstr("waits for the host, which is in host_wait"));
}

// --- messages
// -------------------------------------------------------------------------------------------------------

TEST(Messages, OneWithoutPartnerIsNamed) {
  const std::string findings = findings_of(R"(world 2
program a {
  buffer x bf16[4] persistent
  send x:x to +1
  send x:x to +1
}
program b {
  buffer x bf16[4] persistent
  recv y=x from -1
}
)");
  EXPECT_THAT(
      findings,
      HasSubstr("messages from rank 0 to rank 1: 2 on rank 0, but 1 on rank 1; the first without partner:"));
  EXPECT_THAT(findings, HasSubstr("waits for rank 1 to receive it, which it never does"));
}

TEST(Messages, SizesMustAgree) {
  EXPECT_THAT(findings_of(R"(world 2
program a {
  buffer x bf16[4] persistent
  send x:x to +1
}
program b {
  buffer x bf16[8] persistent
  recv y=x from -1
}
)"),
              HasSubstr("number 0 does not match (size, tag, microbatch or kind differ)\n"
                        "    rank 0: send (send.0, unit 0, microbatch 0), site 0, 8 bytes\n"
                        "    rank 1: recv (recv.0, unit 0, microbatch 0), site 0, 16 bytes"));
}

// Two stages with two chunks each: previous and next rank are the same, so only tags tell chunks apart.
TEST(Messages, BetweenTheSameTwoRanksMatchByMicrobatchAndChunk) {
  const auto text = [](const char* first, const char* second) {
    return fmt::format(R"(world 2
microbatches 2
program a {{
  buffer x bf16[4] x 2 persistent
  send x:x to +1 site 1 microbatch 0
  send x:x to +1 site 3 microbatch 0
}}
program b {{
  buffer x bf16[4] x 2 persistent
  recv y=x from -1 {}
  recv y=x from -1 {}
}}
)",
                       first, second);
  };
  EXPECT_EQ(findings_of(text("site 1", "site 3")), "");
  EXPECT_THAT(findings_of(text("site 3", "site 1")),
              HasSubstr("messages from rank 0 to rank 1: number 0 does not match"));
  EXPECT_THAT(findings_of(text("site 1", "site 3 microbatch 1")), HasSubstr("number 1 does not match"));
}

TEST(Messages, CollectivesMustAgreeAcrossPrograms) {
  const auto text = [](const std::string& other) {
    return R"(world 4
programs stride 2 size 2
program a {
  buffer x bf16[4] persistent
  all_reduce y+=x in world
  all_reduce y+=x in data
}
program b {
  buffer x bf16[4] persistent
  buffer z bf16[8] persistent
  )" + other +
           "\n  all_reduce y+=x in data\n}\n";
  };
  EXPECT_EQ(findings_of("group data stride 1 size 2\n" + text("all_reduce y+=x in world")), "");
  EXPECT_THAT(findings_of(text("all_reduce y+=z in world")),
              HasSubstr("collectives of ranks 0 and 2 in group world: number 0 does not match"));
  EXPECT_THAT(findings_of(text("all_reduce(reduce=max) y+=x in world")), HasSubstr("does not match"));
  EXPECT_THAT(findings_of(text("broadcast y=x in world")), HasSubstr("does not match"));
  const std::string findings = findings_of(text("fill y=z"));
  EXPECT_THAT(findings, HasSubstr("rank 2 has no collective there"));
  EXPECT_THAT(findings, HasSubstr("waits for rank 2 to join it, which it never does"));
}

// --- buffers
// --------------------------------------------------------------------------------------------------------

std::string one_program(const std::string& body) {
  return "microbatches 8\nprogram p slots 2 {\n  buffer a bf16[64]\n  buffer b bf16[64]\n  buffer ring "
         "bf16[4] x 2\n"
         "  buffer kept bf16[64] persistent\n  token done\n" +
         body + "\n}\n";
}

TEST(Buffers, AReadOnAnotherStreamNeedsAnEvent) {
  const auto text = [](const char* record, const char* wait) {
    return one_program(fmt::format(R"(
  fill y=a!new {}
  copy_to_host x:a y=kept {} record(done)
  fill release:a!free wait(done) y=b!new!free)",
                                   record, wait));
  };
  EXPECT_EQ(findings_of(text("record(a)", "wait(a)")), "");
  EXPECT_THAT(
      findings_of(text("", "")),
      HasSubstr("copy_to_host (copy_to_host.1, unit 0, microbatch 0) reads a while fill (fill.0, unit 0, "
                "microbatch 0) may still be writing it"));
}

TEST(Buffers, MemoryIsFreedWhenItsLastUserIsSurelyDone) {
  const auto text = [](const char* wait) {
    return one_program(fmt::format(R"(
  fill y=a!new record(a)
  copy_to_host x:a y=kept wait(a) record(done)
  fill release:a!free {} y=b!new!free)",
                                   wait));
  };
  EXPECT_EQ(findings_of(text("wait(done)")), "");
  EXPECT_THAT(
      findings_of(text("")),
      HasSubstr("frees a while copy_to_host (copy_to_host.1, unit 0, microbatch 0) may still be reading it"));
}

TEST(Buffers, TheHostThatWaitedOrdersWhatItIssuesLater) {
  EXPECT_EQ(findings_of(one_program(R"(
  fill y=a!new wait(done) record(a)
  host_wait wait(a)
  copy_to_host x:a!free y=kept record(done))")),
            "");
}

TEST(Buffers, AWriteWaitsForEarlierReaders) {
  EXPECT_THAT(
      findings_of(one_program(R"(
  fill y=kept record(kept)
  copy_to_host x:kept y=a!new!free wait(kept)
  fill y=kept)")),
      HasSubstr(
          "writes kept while copy_to_host (copy_to_host.1, unit 0, microbatch 0) may still be reading it"));
}

TEST(Buffers, TheNextStepFollowsWithoutABarrier) {
  const std::string findings = findings_of(one_program(R"(
  copy_to_host x:kept y=a!new!free
  fill y=b!new!free wait(done)
  fill y=kept on data record(done))"));
  EXPECT_THAT(findings,
              HasSubstr("may still be reading it"));  // in the same step: nothing orders data after to_host
  EXPECT_EQ(findings_of(one_program(R"(
  copy_to_host x:kept y=a!new!free wait(done) record(kept)
  fill y=kept on data wait(kept) record(done))")),
            "");
  EXPECT_THAT(findings_of(one_program(R"(
  copy_to_host x:kept y=a!new!free record(kept)
  fill y=kept on data wait(kept))")),
              HasSubstr("on stream data, in the step before: no event orders them"));
}

TEST(Buffers, PartsAreJudgedApart) {
  // Halves of a, written on two streams, then read together.
  const auto text = [](const char* second) {
    return one_program(fmt::format(R"(
  fill y=a[32]!new record(a)
  fill y=a[32 at {}] on data {}
  cast x:a!free y=b!new!free wait(done))",
                                   second, "wait(a) record(done)"));
  };
  EXPECT_EQ(findings_of(text("32")), "");
  EXPECT_THAT(
      findings_of(text("16")),
      HasSubstr("cast (cast.2, unit 0, microbatch 0) reads a, of which that part is not written yet"));
}

TEST(Buffers, ColumnsOfAMatrixDoNotOverlap) {
  const auto text = [](const char* right, const char* wait) {
    return one_program(fmt::format(R"(
  fill y=kept[8x4 stride 8] record(kept)
  fill y=kept[8x4 at {} stride 8] on data record(done) {}
  fill y=b!new!free wait(done))",
                                   right, wait));
  };
  EXPECT_EQ(findings_of(text("4", "")), "");
  EXPECT_THAT(findings_of(text("3", "")), HasSubstr("may still be writing it"));
}

TEST(Buffers, LifetimesAreChecked) {
  EXPECT_THAT(findings_of(one_program("fill y=a")), HasSubstr("uses a, which is not allocated"));
  EXPECT_THAT(findings_of(one_program("fill y=a!new")),
              HasSubstr("leaves a allocated at the end of the step"));
  EXPECT_THAT(findings_of(one_program("fill y=a!new\n  fill y=a!new!free")),
              HasSubstr("allocates a, which is allocated already"));
  EXPECT_THAT(findings_of(one_program("fill y=a!new!free\n  fill y=kept release:a!free")),
              HasSubstr("frees a, which is not allocated"));
  EXPECT_THAT(findings_of(one_program("add x:kept y+=a!new!free")),
              HasSubstr("reads a, of which that part is not written yet"));
  EXPECT_THAT(findings_of(one_program("fill y=kept!free")), HasSubstr("which is persistent"));
}

TEST(Buffers, ASlotThatIsReusedTooEarly) {
  // A ring of two slots, filled on data and read on compute; the fill must wait for the read of two rounds
  // before.
  const auto text = [](const char* wait) {
    return one_program(fmt::format(R"(
  block round {{
    formal slot = ring[slot]
    fill y=slot!new on data record(slot) {}
    cast x:slot!free y=kept[4] wait(slot) record(slot)
  }}
  repeat 8 {{
    call round step 1
  }})",
                                   wait));
  };
  EXPECT_EQ(findings_of(text("wait(slot)")), "");
  EXPECT_THAT(findings_of(text("")), HasSubstr("writes ring[0] while cast"));
}

// --- loops
// ----------------------------------------------------------------------------------------------------------

// 1F1B on two stages: warm-up, steady state, cool-down, messages of both directions grouped.
std::string one_f_one_b(int m, const std::string& last = "") {
  return fmt::format(R"(world 2
microbatches {0}
program stage0 slots 2 {{
  buffer act bf16[16] x 2
  buffer grad bf16[16]
  buffer w bf16[16] persistent
  block F forward {{
    formal a = act[slot]
    gemm(m=4 n=4 k=4) x:w w:w y=a!new
    send x:a to +1 site 1
  }}
  block B backward {{
    formal a = act[slot]
    recv y=grad!new from +1 site 2
    gemm(m=4 n=4 k=4 layout=nt) dy:grad!free x:a!free dw+=w
  }}
  call F
  repeat {1} {{
    call F microbatch 1 step 1
    call B step 1
  }}
  call B microbatch {2}
}}
program stage1 {{
  buffer act bf16[16]
  buffer w bf16[16] persistent
  block F forward {{
    recv y=act!new from +1 site 1
    gemm(m=4 n=4 k=4) x:act w:w y=act
  }}
  block B backward {{
    gemm(m=4 n=4 k=4 layout=nn) dy:act w:w dx=act
    send x:act!free to +1 site 2
  }}
  repeat {0} {{
    call F step 1
    call B step 1
  }}
{3}}}
)",
                     m, m - 1, m - 1, last);
}

TEST(Loops, SteadyStatesAreCutAlikeInAllPrograms) {
  for (const int m : {2, 3, 5, 8, 20, 1000, 1'000'000})
    EXPECT_EQ(findings_of(one_f_one_b(m), kBuffered), "") << m;
}

TEST(Loops, WhatIsWrongBehindTheLoopIsFoundWithTheCut) {
  const Schedule s = parsed(one_f_one_b(100'000, "  call F microbatch 99999\n  call B microbatch 99999\n"));
  const Cut cut = choose_cut(s, 4);
  EXPECT_GT(cut.skip, 99'000U);
  EXPECT_LT(walked_ops(s.programs[1], cut), 100U);
  const std::string findings = findings_of(s, kBuffered);
  EXPECT_THAT(findings, HasSubstr("messages from rank 1 to rank 0"));
  EXPECT_THAT(findings, HasSubstr("microbatch 99999"));  // as the schedule names it, not as renumbered
}

TEST(Loops, TheCutWalkIsTheWalkOfFewerMicrobatches) {
  const Schedule large = parsed(one_f_one_b(50));
  const Cut cut = choose_cut(large, 4);
  ASSERT_GT(cut.skip, 0U);
  const Schedule small = parsed(one_f_one_b(50 - static_cast<int>(cut.skip)));
  for (std::size_t p = 0; p < 2; ++p) {
    const Walk a = walk_program(large.programs[p], cut), b = walk_program(small.programs[p], {});
    ASSERT_EQ(a.steps.size(), b.steps.size());
    for (std::uint32_t i = 0; i < a.steps.size(); ++i) {
      EXPECT_EQ(a.steps[i].op, b.steps[i].op);
      EXPECT_EQ(a.call(i).microbatch, b.call(i).microbatch);
    }
    EXPECT_EQ(a.ids, b.ids);
    EXPECT_EQ(a.after, b.after);
  }
}

TEST(Loops, SendingBeforeTheBackwardArrivesLocksUpWithBlockingSends) {
  // Stage 0 sends F1 while stage 1 sends B0: the classical 1F1B knot, which grouping unties.
  EXPECT_THAT(findings_of(one_f_one_b(4)), HasSubstr("deadlock: 2 of 2 ranks cannot finish"));
}

// --- structure
// ------------------------------------------------------------------------------------------------------

TEST(Structure, EachMistakeIsNamed) {
  const auto in_block = [](const std::string& op) { return findings_of(one_program(op)); };
  EXPECT_THAT(in_block("fill y=kept[65]"),
              HasSubstr("the view y of fill in block fill.0 reaches outside of kept[64]"));
  EXPECT_THAT(in_block("fill y=kept[2x8 stride 4]"), HasSubstr("reaches outside"));
  EXPECT_THAT(in_block("fill y=kept[32 shard 32]"), HasSubstr("has a sharded view but no group"));
  EXPECT_THAT(in_block("cast x:kept"), HasSubstr("cast of block cast.0 needs an operand y"));
  EXPECT_THAT(in_block("fill y=kept dw+=kept"), HasSubstr("has no use for an operand dw"));
  EXPECT_THAT(in_block("gemm(m=8 n=8 k=8) x:kept w:kept[8x4] y=kept"),
              HasSubstr("has w of 8x4 where its shape says 8x8"));
  EXPECT_THAT(in_block("fill y=kept grouped"), HasSubstr("is grouped, and only communication can be"));
  EXPECT_THAT(in_block("all_reduce y+=kept"), HasSubstr("needs a group"));
  EXPECT_THAT(in_block("send x:kept to +1"), HasSubstr("has itself as its peer"));
  EXPECT_THAT(in_block("host_wait on compute"), HasSubstr("the stream host belong together"));
  EXPECT_THAT(in_block("fill y=kept microbatch 8"), HasSubstr("is for microbatch 8 of 8"));
  EXPECT_THAT(in_block("block b {\nformal r = ring[1 + slot]\nfill y=r\n}\ncall b microbatch 1\n"),
              HasSubstr("binds ring[2], which has 2 instances"));
  EXPECT_THAT(in_block("all_gather x:kept y=kept in world"), IsEmpty());
  EXPECT_THAT(in_block("all_gather x:kept[32] y=kept in world"),
              HasSubstr("has x of 32 and y of 64 elements for 1 ranks"));
}

TEST(Structure, HandMadeNonsenseIsFoundBeforeItIsUsed) {
  const Schedule good = parsed(one_program("fill y=kept"));
  EXPECT_EQ(findings_of(good), "");
  const auto broken = [&](auto&& change) {
    Schedule s = good;
    change(s);
    return verify(s);
  };
  EXPECT_THAT(broken([](Schedule& s) { s.world = 0; }), Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.groups.clear(); }), Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs.clear(); }), Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs[0].ops[0].shape = 9; }), Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs[0].ops[0].kind = static_cast<OpKind>(200); }),
              Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs[0].ops[0].view_count = 7; }), Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs[0].ops[0].record = 5; }), Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs[0].views[0].formal = 5; }), Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs[0].views[0].rows = -1; }), Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs[0].views[0].offset = std::int64_t{1} << 62; }),
              Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs[0].formals[0].buffer = BufferId(99); }), Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs[0].calls[0].block = BlockId(4); }), Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs[0].repeats.push_back({0, 5, 1}); }), Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs[0].slots = 0; }), Not(IsEmpty()));
  EXPECT_THAT(broken([](Schedule& s) { s.programs[0].buffers[3].elements = -5; }), Not(IsEmpty()));
}

// Random mutations of sound schedules: verify says something or nothing, and never breaks; sound ones can be
// walked.
TEST(Structure, MutatedSchedulesAreJudgedWithoutCrash) {
  const std::vector<std::string> good = {print(parsed(one_f_one_b(6))), print(parsed(four_stages(true)))};
  int sound = 0, unsound = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    std::string text = good[seed % good.size()];
    for (int i = 0; i < 2; ++i) {
      const std::size_t at = text.find_first_of("0123456789+-", random() % text.size());
      if (at != std::string::npos) text[at] = static_cast<char>('0' + random() % 10);
    }
    Diagnostics diagnostics;
    const Schedule s = parse(std::make_shared<const SourceFile>(SourceFile{"mutated", text}), diagnostics);
    if (diagnostics.has_errors()) continue;
    if (!verify(s, kBuffered).empty()) {
      ++unsound;
      continue;
    }
    ++sound;
    for (const Program& p : s.programs) EXPECT_GE(memory_peak(p).peak.count(), 0);
  }
  EXPECT_GT(sound, 50);
  EXPECT_GT(unsound, 200);
}

// A schedule that is too large for a check is not called wrong; the other checks are made.
TEST(Unchecked, IsNoMistake) {
  const Schedule good = parsed(both_send_first("grouped"));
  for (const VerifyOptions& small : {VerifyOptions{.most_ops = 1}, VerifyOptions{.most_atoms = 0}}) {
    const std::vector<Finding> findings = verify(good, small);
    ASSERT_FALSE(findings.empty());
    for (const Finding& f : findings) EXPECT_TRUE(f.unchecked) << f.message;
    EXPECT_TRUE(is_sound(findings));
  }
  const std::vector<Finding> bad = verify(parsed(both_send_first("")), {.most_atoms = 0});
  EXPECT_FALSE(is_sound(bad));
  EXPECT_TRUE(is_sound(verify(good)));
}

}  // namespace
}  // namespace orrery::schedule
