// Checkpoints that are not whole, not sound or not this run's: whatever happens to the files, loading gives the saved
// state or an InputError that names the file and what to do; and a process killed while saving loses that checkpoint
// alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <span>

#include "base/check.h"
#include "base/diagnostics.h"
#include "runtime/state/checkpoint_directory.h"
#include "runtime/state/directory_lock.h"
#include "runtime/state/rank_file.h"
#include "tests/runtime/state/saved_jobs.h"

namespace orrery::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The smallest model there is, so that a good part of its checkpoint's bytes can be damaged one by one.
models::Architecture smallest_model() {
  models::Architecture a = state_models()[1];
  a.layers = 1;
  a.hidden = 4;
  a.heads = a.kv_heads = 2;
  a.head_dim = 2;
  a.ffn_hidden = 4;
  a.vocab = 4;
  return a;
}

class Damaged : public testing::Test {
 protected:
  Damaged()
      : job_(compile_plan(smallest_model(), "DP2 ZeRO-1")), again_(compile_plan(smallest_model(), "DP2 ZeRO-1")) {
    put_trained_state(job_);
    path_ = save_job(job_, directory_.path(), 12, {.piece_bytes = 100});
  }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string error() { return load_error(again_, directory_.path()); }
  void replace_in_manifest(const std::string& what, const std::string& with) {
    std::string text = read_text(file("manifest.json"));
    const std::size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    write_text(file("manifest.json"), with_checksum(text.replace(at, what.size(), with)));
  }
  // Writes a rank's file anew, with other contents, and a manifest that speaks of it.
  void rewrite(std::size_t rank, const std::function<void(RankFile&, std::string&)>& change) {
    Manifest manifest = read_manifest(file("manifest.json"));
    const std::string path = file(manifest.files[rank].name);
    RankFileHeader header = read_rank_file_header(path);
    std::string data = read_text(path).substr(static_cast<std::size_t>(header.data_offset));
    change(header.file, data);
    write_rank_file(path, header.file, std::as_bytes(std::span(data)));
    header = read_rank_file_header(path);
    manifest.files[rank].bytes = header.bytes;
    manifest.files[rank].header_checksum = header.checksum;
    write_text(file("manifest.json"), manifest_text(manifest));
  }
  CheckpointDirectory directory_;
  Job job_, again_;
  std::string path_;
};

// Every byte of the head, and every 11th behind it.
TEST_F(Damaged, NoByteOfARankFileCanChange) {
  const std::string path = file("rank-00001.bin"), sound = read_text(path);
  for (std::size_t at = 0; at < sound.size(); at += at < 24 ? 1 : 11) {
    std::string text = sound;
    text[at] = static_cast<char>(text[at] ^ (1 << (at % 8)));
    write_text(path, text);
    ASSERT_THAT(error(), HasSubstr("rank-00001.bin: error: ")) << "byte " << at << " of " << sound.size();
  }
  write_text(path, sound);
  EXPECT_EQ(error(), "");
}

TEST_F(Damaged, NoByteOfTheManifestCanChange) {
  const std::string path = file("manifest.json"), sound = read_text(path);
  for (std::size_t at = 0; at < sound.size(); at += 3) {
    std::string text = sound;
    text[at] = static_cast<char>(text[at] ^ (1 << (at % 7)));
    write_text(path, text);
    ASSERT_THAT(error(), HasSubstr("manifest.json")) << "byte " << at << " of " << sound.size();
  }
}

TEST_F(Damaged, FilesThatEndEarlyOrLateAreFound) {
  for (const std::string name : {"rank-00000.bin", "manifest.json"}) {
    const std::string sound = read_text(file(name));
    for (std::size_t length = 0; length < sound.size(); length += 1 + length / 7) {
      write_text(file(name), sound.substr(0, length));
      ASSERT_THAT(error(), HasSubstr(name)) << length << " of " << sound.size() << " bytes";
    }
    write_text(file(name), sound + "x");
    EXPECT_THAT(error(), HasSubstr(name));
    write_text(file(name), sound);
  }
  EXPECT_EQ(error(), "");
}

TEST_F(Damaged, MissingAndForeignFilesAreFound) {
  std::filesystem::rename(file("rank-00000.bin"), file("other"));
  EXPECT_THAT(error(), HasSubstr("rank-00000.bin: error: cannot be read: No such file or directory"));
  std::filesystem::copy_file(file("rank-00001.bin"), file("rank-00000.bin"));
  EXPECT_THAT(error(), HasSubstr("rank-00000.bin: error: is not the file that the manifest speaks of"));
  std::filesystem::remove(file("rank-00000.bin"));
  std::filesystem::create_directory(file("rank-00000.bin"));
  EXPECT_THAT(error(), HasSubstr("rank-00000.bin: error: is no ordinary file"));
}

TEST_F(Damaged, AManifestThatLeavesOutAFileIsIncomplete) {
  const std::string text = read_text(file("manifest.json"));
  const std::size_t begin = text.find("{", text.find("\"files\"")), end = text.find("},", begin) + 2;
  replace_in_manifest(text.substr(begin, end - begin), "");
  EXPECT_THAT(error(),
              AllOf(HasSubstr("is not there, or not exactly once"), HasSubstr("copy its directory as a whole")));
  write_text(file("manifest.json"), text);
  replace_in_manifest(text.substr(begin, end - begin),
                      text.substr(begin, end - begin) + text.substr(begin, end - begin));
  EXPECT_THAT(error(), HasSubstr("not exactly once")) << "nor may a file count twice";
  write_text(file("manifest.json"), text);
  replace_in_manifest("rank-00000.bin", "../../rank.bin");
  EXPECT_THAT(error(), HasSubstr("lies beside its manifest"));
}

TEST_F(Damaged, PiecesThatLackOrOverlapAreFound) {
  rewrite(1, [](RankFile&, std::string&) {});
  ASSERT_EQ(error(), "") << "the same contents load";
  rewrite(1, [](RankFile& contents, std::string& data) {
    data.resize(static_cast<std::size_t>(contents.pieces.back().offset));
    contents.pieces.pop_back();
  });
  EXPECT_THAT(error(), HasSubstr("is not there, or not exactly once"));
  std::filesystem::remove_all(path_);
  path_ = save_job(job_, directory_.path(), 12, {.piece_bytes = 16});  // a row or so each
  rewrite(1, [](RankFile& contents, std::string&) {
    for (std::size_t i = 0; i + 1 < contents.pieces.size(); ++i) {
      StoredPiece &one = contents.pieces[i], &next = contents.pieces[i + 1];
      if (one.tensor != next.tensor || one.state != next.state || one.rows != next.rows ||
          one.columns != next.columns)
        continue;
      next.row = one.row;  // as many elements as there should be, some twice
      next.column = one.column;
      return;
    }
    FAIL() << "no two pieces are alike";
  });
  EXPECT_THAT(error(), HasSubstr("is not there, or not exactly once"));
}

// Sound in itself and of the right length, but not of this checkpoint.
TEST_F(Damaged, AFileOfAnotherCheckpointIsFound) {
  const std::string path = file("rank-00001.bin"), sound = read_text(path),
                    manifest = read_text(file("manifest.json"));
  for (char value = 1; value < 100; ++value) {
    rewrite(1, [&](RankFile&, std::string& data) { data[0] = static_cast<char>(data[0] + value); });
    if (read_text(path).size() == sound.size()) break;  // checksums are as long as their digits
    write_text(path, sound);
    write_text(file("manifest.json"), manifest);
  }
  ASSERT_NE(read_text(path), sound);
  ASSERT_EQ(error(), "");
  write_text(file("manifest.json"), manifest);
  EXPECT_THAT(error(), HasSubstr("rank-00001.bin: error: is not the file that the manifest speaks of"));
}

TEST_F(Damaged, OtherVersionsAreRefused) {
  replace_in_manifest("\"version\": 1", "\"version\": 2");
  EXPECT_THAT(error(), AllOf(HasSubstr("manifest.json:"), HasSubstr("format version 2 is not known"),
                             HasSubstr("this program reads version 1")));
  replace_in_manifest("\"version\": 2", "\"version\": 1");
  std::string text = read_text(file("rank-00000.bin"));
  text[8] = 7;
  write_text(file("rank-00000.bin"), text);
  EXPECT_THAT(error(), HasSubstr("rank-00000.bin: error: has format version 7; this program reads version 1"));
  replace_in_manifest("orrery checkpoint", "something else");
  EXPECT_THAT(error(), HasSubstr("is no manifest of a checkpoint"));
}

TEST_F(Damaged, TheOneBeforeIsNamed) {
  save_job(job_, directory_.path(), 20);
  write_text(directory_.path() + "/step-00000020/rank-00001.bin", "");
  EXPECT_THAT(error(), AllOf(HasSubstr("step-00000020/rank-00001.bin: error: is cut short"),
                             HasSubstr("hint: the one before is " + path_)));
}

// --- of another run
// -------------------------------------------------------------------------------------------------

TEST_F(Damaged, AnotherModelIsRefusedByField) {
  models::Architecture other = smallest_model();
  other.name = "renamed";
  other.dropout = 0.1;
  Job renamed(compile_plan(other, "one rank"));
  EXPECT_EQ(load_error(renamed, path_), "") << "a name is no difference";
  other.layers = 4;
  other.activation = models::ActivationKind::geglu;
  Job different(compile_plan(other, "one rank"));
  EXPECT_THAT(
      load_error(different, path_),
      AllOf(
          HasSubstr("is of another model: layers is 1 there and 4 here; activation is swiglu there and geglu here\n"),
          HasSubstr("hint: resume with the model")));
}

TEST_F(Damaged, AnotherOptimizerIsRefused) {
  const Plan sgd{"sgd", [](scenarios::Scenario& s) { s.training.optimizer = scenarios::Optimizer::sgd; }};
  Job other(compile_plan(smallest_model(), sgd));
  EXPECT_THAT(load_error(other, path_), AllOf(HasSubstr("was trained by adam, this run has sgd\n"),
                                              HasSubstr("set training.optimizer to adam")));
}

// The same fields, tensors of other sizes: no program of ours wrote it.
TEST_F(Damaged, TensorsOfOtherSizesAreRefused) {
  models::Architecture other = smallest_model();
  other.ffn_hidden = 8;
  Job wider(compile_plan(other, "one rank"));
  replace_in_manifest("\"ffn_hidden\": 4", "\"ffn_hidden\": 8");
  EXPECT_THAT(load_error(wider, path_), HasSubstr("layer0.mlp.gate is [4 x 4] there and [8 x 4] here"));
}

TEST_F(Damaged, APipeInAFilesPlaceIsNotWaitedFor) {
  std::filesystem::remove(file("rank-00000.bin"));
  ASSERT_EQ(::mkfifo(file("rank-00000.bin").c_str(), 0600), 0);
  EXPECT_THAT(error(), HasSubstr("rank-00000.bin: error: is no ordinary file"));
}

// What --keep removes must be the run's own.
TEST_F(Damaged, SavingBesideAnotherModelIsRefused) {
  EXPECT_NO_THROW(refuse_foreign_checkpoints(directory_.path(), smallest_model()));
  models::Architecture other = smallest_model();
  other.ffn_hidden = 8;
  try {
    refuse_foreign_checkpoints(directory_.path(), other);
    FAIL() << "accepted";
  } catch (const InputError& refused) {
    EXPECT_THAT(refused.what(), AllOf(HasSubstr("step-00000012: error: is a checkpoint of another model"), HasSubstr("ffn_hidden")));
  }
  EXPECT_NO_THROW(refuse_foreign_checkpoints(directory_.path() + "/none", other));
}

TEST_F(Damaged, OnlyNamesThatARunGivesCount) {
  for (const char* name : {"step-20", "step-000000020", "step-+0000020", "step-00000020.old"})
    std::filesystem::copy(path_, directory_.path() + "/" + name);
  EXPECT_THAT(complete_steps(directory_.path()), ElementsAre(12));
  EXPECT_EQ(error(), "");
}

TEST(DirectoryLock, IsOneRunsAlone) {
  const CheckpointDirectory directory;
  const std::string path = directory.path() + "/a/b";
  {
    const DirectoryLock lock(path);
    ASSERT_TRUE(lock.holds());
    try {
      const DirectoryLock second(path);
      FAIL() << "two runs have it";
    } catch (const WorldError& error) {
      EXPECT_THAT(error.what(), HasSubstr("another run is saving into this directory"));
    }
  }
  EXPECT_TRUE(DirectoryLock(path).holds());
}

TEST(NoCheckpoint, IsSaidPlainly) {
  const CheckpointDirectory directory;
  Job job(compile_plan(smallest_model(), "one rank"));
  EXPECT_THAT(load_error(job, directory.path() + "/none"),
              HasSubstr("/none: error: no such directory of checkpoints"));
  EXPECT_THAT(load_error(job, directory.path()), HasSubstr("holds no complete checkpoint"));
  std::filesystem::create_directory(directory.path() + "/step-00000005");
  EXPECT_THAT(load_error(job, directory.path()), HasSubstr("holds no complete checkpoint")) << "without a manifest";
}

// --- killed while saving
// --------------------------------------------------------------------------------------------

// Runs `act` in a child whose files may not grow beyond `bytes`: a write across that limit kills it (SIGXFSZ), as
// kill -9 would at that byte. True where it was killed.
template <typename Act>
bool killed_at(std::size_t bytes, Act&& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_DFL);
    const rlimit core{0, 0}, size{bytes, bytes};
    ::setrlimit(RLIMIT_CORE, &core);
    ::setrlimit(RLIMIT_FSIZE, &size);
    act();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ;
}

TEST_F(Damaged, KillingASaveLosesThatSaveAlone) {
  const std::size_t whole = std::filesystem::file_size(file("rank-00000.bin"));
  std::size_t killed = 0;
  for (std::size_t bytes = 0; bytes < whole; bytes += 1 + whole / 20) {
    const bool dead = killed_at(bytes, [&] { save_job(job_, directory_.path(), 20, {.run = "dead"}); });
    killed += dead ? 1 : 0;
    ASSERT_TRUE(dead) << bytes << " of " << whole;
    ASSERT_EQ(find_checkpoint(directory_.path()), path_);
    ASSERT_EQ(error(), "");
    ASSERT_EQ(state_difference(job_, again_), "");
  }
  EXPECT_GT(killed, 15U);
  EXPECT_THAT(directory_.names(), ElementsAre(".step-00000020.partial.dead", "step-00000012"));
  save_job(job_, directory_.path(), 16, {.run = "alive"});
  EXPECT_THAT(directory_.names(), ElementsAre("step-00000012", "step-00000016"));
}

// Killed with all rank files written: within the manifest, or with everything written but the name.
TEST_F(Damaged, KillingACommitLosesThatSaveAlone) {
  const SavePlace place{directory_.path(), 20, "dead"};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    Snapshot s;
    snapshot(job_.layouts[rank], job_.memories[rank], s);
    save_rank(place, static_cast<std::int64_t>(rank), s);
  }
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{500}}) {
    EXPECT_TRUE(killed_at(bytes, [&] { commit(place, job_.schedule, job_.layouts[0], progress_at(20), 1); }));
    EXPECT_EQ(find_checkpoint(directory_.path()), path_)
        << "and the old one is not removed before the new one counts";
    EXPECT_EQ(error(), "");
  }
  commit(place, job_.schedule, job_.layouts[0], progress_at(20), 0);
  std::filesystem::rename(directory_.path() + "/step-00000020", directory_.path() + "/.step-00000020.partial.dead");
  EXPECT_EQ(find_checkpoint(directory_.path()), path_);
}

// A rank that never wrote, or wrote half: the commit fails, and what was there stays.
TEST_F(Damaged, ACommitLooksAtEveryRanksFile) {
  const SavePlace place{directory_.path(), 20, "run"};
  Snapshot s;
  snapshot(job_.layouts[0], job_.memories[0], s);
  save_rank(place, 0, s);
  const auto commit_error = [&]() -> std::string {
    try {
      commit(place, job_.schedule, job_.layouts[0], progress_at(20), 1);
    } catch (const WorldError& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_THAT(commit_error(), HasSubstr("rank-00001.bin: error: cannot be read"));
  write_text(partial_path(directory_.path(), 20, "run") + "/rank-00001.bin",
             read_text(file("rank-00001.bin")).substr(0, 300));
  EXPECT_THAT(commit_error(), HasSubstr("rank-00001.bin: error: is "));
  EXPECT_EQ(find_checkpoint(directory_.path()), path_);
}

}  // namespace
}  // namespace orrery::runtime
