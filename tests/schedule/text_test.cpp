// The text form: what is printed reads back as the same schedule; what is wrong is reported at its place.
#include "schedule/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "schedule/memory.h"
#include "schedule/verify.h"
#include "tests/schedule/small_program.h"

namespace orrery::schedule {
namespace {

std::shared_ptr<const SourceFile> source_of(std::string text) {
  return std::make_shared<const SourceFile>(SourceFile{"test.schedule", std::move(text)});
}

Schedule parsed(const std::string& text) {
  Diagnostics diagnostics;
  Schedule schedule = parse(source_of(text), diagnostics);
  EXPECT_FALSE(diagnostics.has_errors()) << diagnostics.text();
  return schedule;
}

std::string errors_of(const std::string& text) {
  Diagnostics diagnostics;
  parse(source_of(text), diagnostics);
  return diagnostics.text();
}

constexpr const char* kPipeline = R"(
// Two stages, one activation, everything that the grammar has.
schedule "two \"stages\""
world 8
microbatches 6
group tensor named "tp" stride 1 size 2
group pipe stride 4 size 2
group ring stride 2 size 2
programs by pipe
hyper learning_rate=0.0003 seed=7
model name="tiny" layers=2 hidden=8 activation=swiglu qkv_bias=false
program stage0 slots 3 {
  buffer hidden bf16[64] x 3
  buffer weights bf16[4096] x 2 weight persistent
  buffer "odd name" fp32[10] workspace
  buffer pinned fp32[16] optimizer host persistent
  token ready x 3
  unit layer layer=1 used=4000 elements=4096 weight_shards=2 weights=weights[1] gradients=weights master=pinned[0]
    slice attention.query 8x8 at 128 of 16x8 rows normal decayed
    slice norm1.weight 8x1 of 8x1 replicated ones
  block layer.forward forward {
    formal x = hidden[slot]
    formal w = weights[1 + unit + 4*slot]
    gemm(m=8 n=8 k=8) x:x[8x8] w:w[8x8 at 64 stride 16] y=x[8x8]!new wait(ready) record(x)
    all_reduce(reduce=max) y+=x in tensor
    all_gather x:w[32 at 0 shard 32] y="odd name"!new!free in data on compute
    release_is_no_kind
  }
}
)";

TEST(Text, ReportsAnUnknownKind) {
  EXPECT_THAT(errors_of(kPipeline),
              testing::HasSubstr("test.schedule:27:5: error: 'release_is_no_kind' is no statement here"));
}

std::string valid_pipeline() {
  std::string text = kPipeline;
  const std::string wrong = "release_is_no_kind\n  }\n}\n";
  text.resize(text.find(wrong));
  return text + R"(add x:x y+=x phase recompute site 200
    fill release:x!free
  }
  block sends backward {
    send x:hidden to +1 grouped
    recv y=hidden from -1 in ring on data wait(hidden ready)
    host_wait wait(ready)
  }
  call layer.forward unit 1
  repeat 5 {
    call layer.forward microbatch 1 step 1
    call sends step 1
  }
  call sends microbatch 5
}
program stage1 slots 1 {
  buffer hidden bf16[64]
  recv y=hidden!new from -1 microbatch 2
}
)";
}

TEST(Text, ReadsEveryPart) {
  const Schedule s = parsed(valid_pipeline());
  EXPECT_EQ(s.name, "two \"stages\"");
  EXPECT_EQ(s.world, 8);
  EXPECT_EQ(s.groups.size(), 6U);
  EXPECT_EQ(s.groups[kTensor].name, "tp");
  EXPECT_EQ(s.program_group, s.groups[kPipe]);
  EXPECT_EQ(s.hyper.seed, 7);
  EXPECT_FALSE(s.model.qkv_bias);
  ASSERT_EQ(s.programs.size(), 2U);
  const Program& p = s.programs[0];
  EXPECT_EQ(p.slots, 3U);
  EXPECT_EQ(p.buffers[1].instances, 2U);
  EXPECT_TRUE(p.buffers[3].on_host);
  EXPECT_EQ(p.buffers[4].kind, BufferKind::token);
  ASSERT_EQ(p.units.size(), 1U);
  EXPECT_EQ(p.units[0].weights.instance, 1U);
  EXPECT_EQ(p.units[0].slices[0].parameter.rows, 16);
  EXPECT_FALSE(p.units[0].slices[1].parameter.decayed);
  const Op& gemm = p.ops[0];
  EXPECT_EQ(s.shapes[gemm.shape], (KernelShape{.m = 8, .n = 8, .k = 8}));
  EXPECT_EQ(gemm.wait_count, 1);
  EXPECT_EQ(gemm.record, 0);
  const View& w = p.views_of(gemm)[1];
  EXPECT_EQ(w.rows, 8);
  EXPECT_EQ(w.offset, 64);
  EXPECT_EQ(w.row_stride, 16);
  EXPECT_EQ(p.ops[1].stream, Stream::tensor);
  EXPECT_EQ(p.ops[2].stream, Stream::compute);
  EXPECT_TRUE(p.views_of(p.ops[2])[1].allocates);
  EXPECT_TRUE(p.views_of(p.ops[2])[1].frees);
  EXPECT_EQ(p.ops[3].phase, Phase::recompute);
  EXPECT_EQ(p.ops[3].site, 200);
  EXPECT_EQ(p.views_of(p.ops[4])[0].count(), 0);
  const Formal& formal = p.formals[1];
  EXPECT_EQ(formal.base, 1U);
  EXPECT_EQ(formal.unit_stride, 1U);
  EXPECT_EQ(formal.slot_stride, 4U);
  const Op& send = p.ops[5];
  EXPECT_TRUE(send.grouped);
  EXPECT_EQ(send.peer, 1);
  EXPECT_EQ(send.group, kPipe);
  EXPECT_EQ(send.phase, Phase::backward);
  EXPECT_EQ(p.repeats[0].count, 5U);
  EXPECT_EQ(p.repeats[0].call_count, 2U);
  EXPECT_EQ(s.programs[1].calls[0].microbatch, 2U);
}

TEST(Text, WhatIsPrintedReadsBackAsTheSame) {
  const Schedule s = parsed(valid_pipeline());
  const std::string text = print(s);
  EXPECT_EQ(parsed(text), s) << text;
  EXPECT_EQ(print(parsed(text)), text);
}

TEST(Text, ShapesThatAreNotInOrderOfFirstUseKeepTheirPlaces) {
  Schedule s = parsed(valid_pipeline());
  std::swap(s.shapes[0], s.shapes[1]);
  for (Op& op : s.programs[0].ops)
    if (op.shape < 2) op.shape = 1 - op.shape;
  s.shapes.push_back({.m = 5});     // used by nothing
  s.shapes.push_back(s.shapes[0]);  // twice in the table
  s.programs[1].ops[0].shape = static_cast<std::uint32_t>(s.shapes.size() - 1);
  EXPECT_EQ(parsed(print(s)), s) << print(s);
}

TEST(Text, NamesThatRepeatAreGivenByIndex) {
  Schedule s = parsed(valid_pipeline());
  s.programs[0].buffers[1].name = s.programs[0].buffers[0].name;
  s.programs[0].blocks[1].name = s.programs[0].blocks[0].name;
  EXPECT_EQ(parsed(print(s)), s) << print(s);
}

TEST(Text, OneOpProgramsNeedNoBlocks) {
  const Schedule s = parsed(R"(
world 2
program a {
  buffer x bf16[4] persistent
  send x:x to +1
}
program b {
  buffer y bf16[4] persistent
  recv y=y from -1
}
)");
  EXPECT_EQ(s.programs[0].calls.size(), 1U);
  EXPECT_EQ(s.groups[kPipe].size, 2);
  EXPECT_EQ(s.groups[kWorld].size, 2);
  EXPECT_EQ(s.program_of(1).name, "b");
  EXPECT_EQ(parsed(print(s)), s);
}

TEST(Text, EveryMistakeIsReportedAtItsPlace) {
  const std::string errors = errors_of(R"(world 0
groop a size 2
program a slots 2 {
  buffer x bf17[4]
  buffer y bf16[4
  block f sideways {
    gemm(m=1 q=2) x:x
  }
  block g {
    gemm(m=1 q=2)
    send x:y
    fill z=y
    fill y=y[4y4]
    fill y=y!gone
  }
  call gg
  repeat 0 {
    call g
  }
  buffer "unclosed
}
)");
  for (const char* expected :
       {":1:7: error: the number of ranks is 0, out of range", ":2:1: error: 'groop' is no statement here",
        "did you mean group?", ":4:12: error: 'bf17' is no data type", "did you mean bf16?",
        ":5:18: error: expected ']' behind the number of elements", ":6:11: error: 'sideways' is no phase",
        ":10:14: error: 'q' is no field of a shape", ":11:12: error: 'y' is no buffer or formal",
        ":12:10: error: 'z' is no role of a view", ":16:8: error: 'gg' is no block", "one of g",
        ":17:10: error: the number of iterations is 0", ":20:10: error: this string does not end"})
    EXPECT_THAT(errors, testing::HasSubstr(expected));
}

// A formal that is refused is not counted, so what follows finds the right ones.
TEST(Text, ARepeatedFormalIsRefusedAndLeavesNoHole) {
  const std::string text =
      "world 1\nprogram p {\n  buffer a bf16[2] activation\n  buffer b bf16[2] workspace\n  block d {\n"
      "    formal x = a\n    formal x = a\n    fill y:b[2]w\n  }\n}\n";
  Diagnostics diagnostics;
  parse(std::make_shared<const SourceFile>(SourceFile{"twice", text}), diagnostics);
  EXPECT_THAT(diagnostics.text(), testing::HasSubstr("there is a formal x in this block already"));
}

TEST(Text, UnclosedAndEmptyFilesAreErrors) {
  EXPECT_THAT(errors_of(""), testing::HasSubstr("there is no program"));
  EXPECT_THAT(errors_of("program a {\n"), testing::HasSubstr("a { is never closed"));
  EXPECT_THAT(errors_of("}\n"), testing::HasSubstr("closes nothing"));
  EXPECT_THAT(errors_of("world 3\nprogram a {\n}\nprogram b {\n}\n"),
              testing::HasSubstr("world 3 is no multiple"));
}

TEST(Text, TheUnrolledFormNamesRanksAndInstances) {
  const std::string text = print_rank(parsed(valid_pipeline()), 1);
  EXPECT_THAT(text, testing::HasSubstr("rank 1: program stage0"));
  EXPECT_THAT(text, testing::HasSubstr("all_reduce(reduce=max) y+=hidden#0 in {0 1}"));
  EXPECT_THAT(text, testing::HasSubstr("send x:hidden#0 to rank 5"));
  EXPECT_THAT(text, testing::HasSubstr("-- layer.forward unit 0 microbatch 5"));
  EXPECT_THAT(text, testing::HasSubstr("recv y=hidden#0 from rank 3"));
}

// Mutations of a good file: they are diagnosed or read; what is read prints, reads back the same, and is
// verified.
TEST(Text, MutatedFilesAreDiagnosedOrRead) {
  const std::string good = print(parsed(valid_pipeline()));
  const std::vector<std::string> pieces = {
      "{",  "}",    "\n",    "\"",      " ", "x",  "0",  "-1",    "99999999999999999999",
      "[",  "]",    "!free", "grouped", "#", "#7", "+=", "wait(", ")",
      "//", "step", "1e+308"};
  int read = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t n) { return random() % n; };
    std::string text = good;
    for (std::size_t i = 0, n = 1 + below(2); i < n; ++i) {
      const std::size_t at = below(text.size());
      const auto what = below(16);
      if (what < 3)
        text.erase(at, 1 + below(4));
      else if (what < 6)
        text.insert(at, pieces[below(pieces.size())]);
      else if (what < 9)
        text[at] = static_cast<char>(below(256));
      else if (what < 10)
        text.resize(at + 1);
      else if (const std::size_t digit = text.find_first_of("0123456789", at); digit != std::string::npos)
        text[digit] = static_cast<char>('0' + below(10));
    }
    Diagnostics diagnostics;
    const Schedule s = parse(source_of(text), diagnostics);
    if (diagnostics.has_errors()) continue;
    ++read;
    ASSERT_EQ(parsed(print(s)), s) << "seed " << seed << "\n" << text;
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace orrery::schedule
