// A calibration that is stopped goes on where it was: every line of its journal is whole or not there.
#include "runtime/calibrate/journal.h"

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/diagnostics.h"
#include "runtime/calibrate/journal_lines.h"
#include "tests/runtime/calibrate/scratch_directory.h"

namespace orrery::runtime {
namespace {

using Blocks = std::vector<Journal::Block>;

TEST(Journal, ASecondCallFindsWhatTheFirstWrote) {
  const ScratchDirectory directory;
  const std::string path = directory.file("j");
  {
    Journal journal(path, "id", JournalUse::begin_anew);
    EXPECT_TRUE(journal.earlier().empty());
    journal.append({"number a 1"});
    journal.append({"number b 2", "visit w"});
  }
  EXPECT_EQ(Journal(path, "id", JournalUse::begin_anew).earlier(),
            (Blocks{{"number a 1"}, {"number b 2", "visit w"}}));
}

// Cut at every byte: what was whole is kept, what was torn is cut off, and the file can be written on.
TEST(Journal, ATornBlockIsCutOff) {
  const ScratchDirectory directory;
  {
    Journal journal(directory.file("whole"), "id", JournalUse::begin_anew);
    journal.append({"number a 1"});
    journal.append({"number b 2", "visit w"});
  }
  const std::string whole = directory.read("whole");
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    directory.write("j", whole.substr(0, cut));
    Blocks expected;
    if (cut >= whole.find("end\n") + 4) expected.push_back({"number a 1"});
    if (cut == whole.size()) expected.push_back({"number b 2", "visit w"});
    const std::size_t header = whole.find('\n') + 1;
    if (cut > 0 && cut < header) continue;  // see the next test
    {
      Journal journal(directory.file("j"), "id", JournalUse::begin_anew);
      ASSERT_EQ(journal.earlier(), expected) << cut;
      journal.append({"number c 3"});
    }
    expected.push_back({"number c 3"});
    ASSERT_EQ(Journal(directory.file("j"), "id", JournalUse::keep).earlier(), expected) << cut;
  }
}

TEST(Journal, AHeaderThatWasTornBeginsAnew) {
  const ScratchDirectory directory;
  directory.write("j", "orrery-calib");
  EXPECT_TRUE(Journal(directory.file("j"), "id", JournalUse::begin_anew).earlier().empty());
  EXPECT_EQ(directory.read("j"), "orrery-calibration/1 id\n");
}

TEST(Journal, AnotherUnfinishedCalibrationIsNotOverwritten) {
  const ScratchDirectory directory;
  Journal(directory.file("j"), "one", JournalUse::begin_anew).append({"number a 1"});
  EXPECT_THROW(Journal(directory.file("j"), "two", JournalUse::begin_anew), InputError);
  EXPECT_THROW(Journal(directory.file("j"), "two", JournalUse::keep), InputError);
  EXPECT_EQ(Journal(directory.file("j"), "one", JournalUse::begin_anew).earlier().size(), 1U);
}

TEST(Journal, AFinishedOneIsBegunAnewUnlessItIsTheSameAndKept) {
  const ScratchDirectory directory;
  {
    Journal journal(directory.file("j"), "id", JournalUse::begin_anew);
    journal.append({"number a 1"});
    journal.finish();
  }
  EXPECT_EQ(Journal(directory.file("j"), "id", JournalUse::keep).earlier().size(), 1U);
  const std::string finished = directory.read("j");
  EXPECT_TRUE(Journal(directory.file("j"), "other", JournalUse::keep).earlier().empty());
  directory.write("j", finished);
  EXPECT_TRUE(Journal(directory.file("j"), "id", JournalUse::begin_anew).earlier().empty());
}

TEST(Journal, ForeignFilesAndTwoWritersAreRefused) {
  const ScratchDirectory directory;
  directory.write("letter", "Dear reader,\nhow are you?\n");
  EXPECT_THROW(Journal(directory.file("letter"), "id", JournalUse::begin_anew), InputError);
  EXPECT_EQ(directory.read("letter"), "Dear reader,\nhow are you?\n");
  const Journal first(directory.file("j"), "id", JournalUse::begin_anew);
  EXPECT_THROW(Journal(directory.file("j"), "id", JournalUse::begin_anew), WorldError);
  EXPECT_THROW(Journal(directory.file("no/such/directory"), "id", JournalUse::begin_anew), WorldError);
}

TEST(JournalLines, ComeBackAsTheyWere) {
  KernelLine kernel;
  kernel.key.name = "gemm_tn.bias.fp32";
  kernel.key.dims = {512, 384, 128};
  kernel.key.dim_count = 3;
  kernel.key.flops = 50331648.0;
  kernel.key.bytes = 1.25e6;
  kernel.busy = true;
  kernel.timings = {{4.3e-4, 4.5e-4, 9e-3}, 1};
  const KernelLine read = read_kernel_line(write_line(kernel));
  EXPECT_EQ(read.key.name, kernel.key.name);
  EXPECT_EQ(read.key.dims, kernel.key.dims);
  EXPECT_EQ(read.key.dim_count, 3U);
  EXPECT_EQ(read.key.flops, kernel.key.flops);
  EXPECT_EQ(read.key.bytes, kernel.key.bytes);
  EXPECT_TRUE(read.busy);
  EXPECT_EQ(read.timings.seconds, kernel.timings.seconds);
  EXPECT_EQ(read.timings.disturbed, 1);

  const TransferLine transfer{hardware::TransferOperation::all_gather, 4, 65536, {{1e-5, 2e-5}, 0}};
  const TransferLine back = read_transfer_line(write_line(transfer));
  EXPECT_EQ(back.operation, transfer.operation);
  EXPECT_EQ(back.ranks, 4);
  EXPECT_EQ(back.bytes, 65536);
  EXPECT_EQ(back.timings.seconds, transfer.timings.seconds);

  EXPECT_EQ(read_number_line(write_line(NumberLine{"op_overhead", 4.62e-8})).value, 4.62e-8);
}

TEST(JournalLines, WhatCannotBeReadIsTheUsersError) {
  for (const char* line :
       {"kernel", "kernel a 1,2 3", "kernel a 1,x 3 4 busy 0 1e-3", "kernel a 1 3 4 idle 0 1e-3",
        "kernel a 1 3 4 busy 2 1e-3", "kernel a 1 3 4 busy 0 soon", "kernel a 1,2,3,4,5,6 3 4 busy 0"})
    EXPECT_THROW(read_kernel_line(line), InputError) << line;
  for (const char* line : {"transfer", "transfer gossip 2 64 0 1e-6", "transfer all_reduce 2 64 0 -1e-6"})
    EXPECT_THROW(read_transfer_line(line), InputError) << line;
  EXPECT_THROW(read_number_line("number a"), InputError);
}

}  // namespace
}  // namespace orrery::runtime
