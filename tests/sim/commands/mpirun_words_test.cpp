// mpirun's blocks are left out wherever the pieces of its output are cut, and everything else is kept.
#include "sim/commands/mpirun_words.h"

#include <gtest/gtest.h>

namespace orrery::sim {
namespace {

const std::string kRule(74, '-');

std::string block(const std::string& text) { return kRule + "\n" + text + kRule + "\n"; }

struct Kept {
  std::string text, death;
  bool said_error = false;
};

Kept kept(const std::string& text, std::size_t piece) {
  Kept result;
  MpirunWords words([&](std::string_view part) { result.text += part; });
  for (std::size_t at = 0; at < text.size(); at += piece)
    words.take(std::string_view(text).substr(at, piece));
  words.finish();
  result.death = words.death();
  result.said_error = words.said_error();
  return result;
}

const std::string kAbort =
    block("MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD\nwith errorcode 3.\n");
const std::string kPrimary =
    block("Primary job  terminated normally, but 1 process returned\na non-zero exit code.\n");
const std::string kExit = block(
    "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
    "the job to be terminated.\n\n  Exit code:    2\n");
const std::string kKilled =
    block("mpirun noticed that process rank 12 with PID 0 on node vm exited on signal 9 (Killed).\n");
const std::string kSlots =
    block("There are not enough slots available in the system to satisfy the 5\nslots\n");
const std::string kAgain =
    "[vm:123] 1 more process has sent help message help-mpi-api.txt / mpi-abort\n"
    "[vm:123] Set MCA parameter \"orte_base_help_aggregate\" to 0 to see all help\n";

TEST(MpirunWords, AreLeftOutHoweverTheyAreCut) {
  const std::string text = "talk\nerror: mine\n" + kAbort + kPrimary + "  more of mine\n" + kExit + kAgain +
                           "[vm:1] *** a crash\n-- end\n" +
                           "mpirun: Forwarding signal 10 to job\nmpirun: Foreword\n";
  for (std::size_t piece = 1; piece < 200; piece += 3) {
    const Kept k = kept(text, piece);
    EXPECT_EQ(k.text, "talk\nerror: mine\n  more of mine\n[vm:1] *** a crash\n-- end\nmpirun: Foreword\n")
        << piece;
    EXPECT_TRUE(k.said_error);
    EXPECT_EQ(k.death, "");
  }
}

TEST(MpirunWords, ThatTheRanksHaveStartedIsForUsAlone) {
  const std::string started = "orrery-rt: all ranks have started\n";
  for (std::size_t piece = 1; piece <= started.size(); ++piece) {
    std::string text;
    MpirunWords words([&](std::string_view part) { text += part; });
    const std::string all = "orrery: a line\n" + started + "loss\n";
    for (std::size_t at = 0; at < all.size(); at += piece) words.take(std::string_view(all).substr(at, piece));
    EXPECT_TRUE(words.ranks_started());
    words.finish();
    EXPECT_EQ(text, "orrery: a line\nloss\n");
  }
  EXPECT_FALSE(MpirunWords([](std::string_view) {}).ranks_started());
}

TEST(MpirunWords, UnknownBlocksAreKept) {
  EXPECT_EQ(kept(kSlots, 7).text, kSlots);
  const std::string open = kRule + "\nsomething new that never ends\n";
  EXPECT_EQ(kept(open, 5).text, open);
}

TEST(MpirunWords, WhoDiedIsRemembered) {
  const Kept k = kept(kPrimary + kKilled, 11);
  EXPECT_EQ(k.text, "");
  EXPECT_FALSE(k.said_error);
  EXPECT_EQ(k.death, "rank 12 was ended by signal 9 (Killed)");
}

// A progress bar has no newline, and must not wait for one.
TEST(MpirunWords, UnfinishedLinesGoOnAtOnce) {
  std::string text;
  MpirunWords words([&](std::string_view part) { text += part; });
  words.take("\rstep 1");
  EXPECT_EQ(text, "\rstep 1");
  words.take("\rstep 2 -----");
  EXPECT_EQ(text, "\rstep 1\rstep 2 -----");
  words.take("\n" + kExit);
  EXPECT_EQ(text, "\rstep 1\rstep 2 -----\n");
}

}  // namespace
}  // namespace orrery::sim
