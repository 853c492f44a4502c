// Saving and going on under the same plan: bitwise, whatever the plan; what a directory of checkpoints looks like
// meanwhile and afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "base/diagnostics.h"
#include "runtime/state/checkpoint_directory.h"
#include "runtime/state/checksum.h"
#include "runtime/state/stored_elements.h"
#include "tests/runtime/state/saved_jobs.h"

namespace orrery::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

models::Architecture small_model() { return state_models()[1]; }

TEST(Checksum, IsCrc32c) {
  // RFC 3720, appendix B.4: 32 bytes of zeros, of ones, ascending.
  std::vector<std::byte> bytes(32);
  EXPECT_EQ(crc32c(bytes), 0x8A9136AAU);
  bytes.assign(32, std::byte{0xFF});
  EXPECT_EQ(crc32c(bytes), 0x62A8AB43U);
  for (std::size_t i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(bytes), 0x46DD794EU);
  for (std::size_t cut = 0; cut <= 32; ++cut)
    EXPECT_EQ(crc32c(std::span(bytes).subspan(cut), crc32c(std::span(bytes).first(cut))), 0x46DD794EU) << cut;
}

class CheckpointOf : public testing::TestWithParam<std::size_t> {};  // a model

TEST_P(CheckpointOf, GoesOnBitwiseUnderTheSamePlan) {
  const models::Architecture a = state_models()[GetParam()];
  for (const Plan& plan : state_plans(a)) {
    SCOPED_TRACE(a.name + ", " + plan.name);
    const CheckpointDirectory directory;
    Job saved(compile_plan(a, plan)), loaded(compile_plan(a, plan));
    put_trained_state(saved);
    save_job(saved, directory.path(), 12, {.piece_bytes = 500});
    const Loaded result = load_job(loaded, directory.path());
    EXPECT_EQ(state_difference(saved, loaded), "");
    EXPECT_EQ(result.progress, progress_at(12));
    EXPECT_THAT(result.notes, IsEmpty());
  }
}
INSTANTIATE_TEST_SUITE_P(Model, CheckpointOf, testing::Range<std::size_t>(0, 3));

TEST(Checkpoint, GoesOnBitwiseInDouble) {
  const CheckpointDirectory directory;
  Job saved(compile_plan(small_model(), "TP2 DP3 ZeRO-3"), true),
      loaded(compile_plan(small_model(), "TP2 DP3 ZeRO-3"), true);
  put_trained_state(saved);
  save_job(saved, directory.path(), 1);
  load_job(loaded, directory.path());
  EXPECT_EQ(state_difference(saved, loaded), "");
}

// Not a number, infinities, zeros of both signs and subnormals are copied, not computed with.
TEST(Checkpoint, KeepsEveryBitPattern) {
  const CheckpointDirectory directory;
  Job saved(compile_plan(small_model(), "bf16 without master weights")),
      loaded(compile_plan(small_model(), "bf16 without master weights"));
  put_trained_state(saved);
  for (const StateRun& run : saved.layouts[0].runs) {
    if (run.kind == StateKind::gradient) continue;
    const std::int64_t size = stored_bytes(saved.memories[0].element(run.buffer.buffer));
    std::byte* const first = saved.memories[0].address(run.buffer) + run.offset * size;
    for (std::int64_t i = 0; i < run.count() * size; ++i) first[i] = static_cast<std::byte>(i * 31 + 0x70);
  }
  save_job(saved, directory.path(), 1);
  load_job(loaded, directory.path());
  EXPECT_EQ(state_difference(saved, loaded), "");
}

// The size of pieces is the writer's choice.
TEST(Checkpoint, ReadsPiecesOfAnySize) {
  for (const std::int64_t bytes : {1, 64, 100, 1000, 1 << 20}) {
    const CheckpointDirectory directory;
    Job saved(compile_plan(small_model(), "TP2 PP2 DP2 ZeRO-1")),
        loaded(compile_plan(small_model(), "TP2 PP2 DP2 ZeRO-1"));
    put_trained_state(saved);
    save_job(saved, directory.path(), 1, {.piece_bytes = bytes});
    load_job(loaded, directory.path());
    EXPECT_EQ(state_difference(saved, loaded), "") << bytes;
  }
}

// ZeRO-1 whose gather comes with the next forward: shards that others update are of the step before.
TEST(Checkpoint, TakesWeightsFromWhoUpdatedThem) {
  const CheckpointDirectory directory;
  const std::string plan = "DP3 ZeRO-1, overlapped gather, no master weights";
  Job saved(compile_plan(small_model(), plan)), stale(compile_plan(small_model(), plan)),
      loaded(compile_plan(small_model(), plan));
  put_trained_state(saved);
  put_trained_state(stale);
  std::int64_t spoilt = 0;
  for (std::int64_t rank = 0; rank < 3; ++rank)
    for (const schedule::Unit& unit : stale.schedule.program_of(rank).units) {
      ASSERT_EQ(unit.optimizer_shards, 3);
      PlainMemory& memory = stale.memories[static_cast<std::size_t>(rank)];
      const std::int64_t size = stored_bytes(memory.element(unit.weights.buffer)), shard = unit.elements / 3;
      for (std::int64_t i = 0; i < unit.elements; ++i) {
        if (i / shard == rank) continue;
        std::memset(memory.address(unit.weights) + i * size, 0x11, static_cast<std::size_t>(size));
        ++spoilt;
      }
    }
  EXPECT_GT(spoilt, 0);
  save_job(stale, directory.path(), 1);
  load_job(loaded, directory.path());
  EXPECT_EQ(state_difference(saved, loaded), "");
}

// A snapshot is a copy: training changes the memory while another thread writes.
TEST(Checkpoint, IsWrittenWhileTrainingGoesOn) {
  const CheckpointDirectory directory;
  Job job(compile_plan(small_model(), "DP2 ZeRO-1")), expected(compile_plan(small_model(), "DP2 ZeRO-1")),
      loaded(compile_plan(small_model(), "DP2 ZeRO-1"));
  put_trained_state(job);
  put_trained_state(expected);
  std::vector<Snapshot> snapshots(2);
  std::vector<std::thread> writers;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    snapshot(job.layouts[rank], job.memories[rank], snapshots[rank]);
    writers.emplace_back([&, rank] {
      save_rank({directory.path(), 5, "run"}, static_cast<std::int64_t>(rank), snapshots[rank]);
    });
    for (const StateBuffer& buffer : job.layouts[rank].buffers)
      std::memset(job.memories[rank].address(buffer.ref), 0x22, static_cast<std::size_t>(buffer.elements));
  }
  for (std::thread& writer : writers) writer.join();
  commit({directory.path(), 5, "run"}, job.schedule, job.layouts[0], progress_at(5), 0);
  load_job(loaded, directory.path());
  EXPECT_EQ(state_difference(expected, loaded), "");
}

TEST(Checkpoint, SnapshotsUseTheirMemoryAgain) {
  Job job(compile_plan(small_model(), "one rank"));
  put_trained_state(job);
  Snapshot first, again;
  snapshot(job.layouts[0], job.memories[0], first);
  snapshot(job.layouts[0], job.memories[0], again);
  const std::byte* const memory = again.data.data();
  snapshot(job.layouts[0], job.memories[0], again);
  EXPECT_EQ(again.data.data(), memory);
  EXPECT_EQ(again.data, first.data);
  EXPECT_EQ(again.file.pieces.size(), first.file.pieces.size());
}

// --- the directory
// --------------------------------------------------------------------------------------------------

TEST(CheckpointDirectory, KeepsTheNewestOnes) {
  const CheckpointDirectory directory;
  Job job(compile_plan(small_model(), "one rank"));
  put_trained_state(job);
  for (const std::int64_t step : {2, 4, 6, 8}) save_job(job, directory.path(), step, {.keep = 2});
  EXPECT_THAT(directory.names(), ElementsAre("step-00000006", "step-00000008"));
  EXPECT_THAT(complete_steps(directory.path()), ElementsAre(6, 8));
  EXPECT_EQ(find_checkpoint(directory.path()), directory.path() + "/step-00000008");
  save_job(job, directory.path(), 123456789, {.keep = 0});
  EXPECT_EQ(find_checkpoint(directory.path()), directory.path() + "/step-123456789") << "by number, not by name";
  EXPECT_EQ(load_job(job, directory.path() + "/step-00000006/").progress.step, 6) << "any one can be named";
}

TEST(CheckpointDirectory, NeverReplacesACheckpoint) {
  const CheckpointDirectory directory;
  Job first(compile_plan(small_model(), "DP2")), second(compile_plan(small_model(), "one rank"));
  put_trained_state(second);
  save_job(first, directory.path(), 3, {.run = "first"});
  EXPECT_THROW(save_job(second, directory.path(), 3, {.run = "second"}), WorldError);
  Job loaded(compile_plan(small_model(), "DP2"));
  EXPECT_EQ(load_job(loaded, directory.path()).plan.dp, 2);
  EXPECT_EQ(state_difference(first, loaded), "");
}

TEST(CheckpointDirectory, IsMadeWithAllAboveIt) {
  const CheckpointDirectory directory;
  Job job(compile_plan(small_model(), "one rank"));
  save_job(job, directory.path() + "/a/b/", 1);
  EXPECT_THAT(complete_steps(directory.path() + "/a/b"), ElementsAre(1));
}

TEST(SaveRank, SaysThatItMoves) {
  const CheckpointDirectory directory;
  Job job(compile_plan(small_model(), "one rank"));
  Snapshot s;
  snapshot(job.layouts[0], job.memories[0], s);
  std::size_t moves = 0;
  save_rank({directory.path(), 1, "run"}, 0, s, [&] { ++moves; });
  EXPECT_EQ(moves, s.file.pieces.size() + 1) << "each piece's checksum, and less than 64 MiB";
}

TEST(CheckpointDirectory, LosesItsLeftoversWithTheNextSave) {
  const CheckpointDirectory directory;
  Job job(compile_plan(small_model(), "one rank"));
  put_trained_state(job);
  Snapshot s;
  snapshot(job.layouts[0], job.memories[0], s);
  save_rank({directory.path(), 4, "dead-run"}, 0, s);
  save_rank({directory.path(), 40, "dead-run"}, 0, s);
  save_rank({directory.path(), 4, "this-run"}, 0, s);
  save_rank({directory.path(), 12, "this-run"}, 0, s);  // being written by a faster rank
  std::filesystem::create_directory(directory.path() + "/.step-other");
  std::filesystem::create_directory(directory.path() + "/my-notes");
  save_job(job, directory.path(), 8, {.run = "this-run"});
  EXPECT_THAT(directory.names(),
              ElementsAre(".step-00000012.partial.this-run", ".step-other", "my-notes", "step-00000008"));
}

TEST(CheckpointDirectory, RefusesStepsAheadOfTheRun) {
  const CheckpointDirectory directory;
  refuse_later_checkpoints(directory.path(), 0);
  refuse_later_checkpoints(directory.path() + "/none", 0);
  Job job(compile_plan(small_model(), "one rank"));
  save_job(job, directory.path(), 8);
  refuse_later_checkpoints(directory.path(), 8);
  try {
    refuse_later_checkpoints(directory.path(), 7);
    FAIL() << "step 8 is later than 7";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("holds a checkpoint of step 8, and this run goes on from step 7"));
    EXPECT_THAT(error.what(), HasSubstr("resume from " + directory.path() + "/step-00000008"));
  }
}

TEST(CheckpointDirectory, SaysWhyItCannotBeWritten) {
  const CheckpointDirectory directory;
  write_text(directory.path() + "/file", "no directory");
  Job job(compile_plan(small_model(), "one rank"));
  try {
    save_job(job, directory.path() + "/file", 1);
    FAIL() << "a file is no directory";
  } catch (const WorldError& error) {
    EXPECT_THAT(error.what(), HasSubstr(directory.path() + "/file/.step-00000001.partial.run: cannot be made"));
  }
}

}  // namespace
}  // namespace orrery::runtime
