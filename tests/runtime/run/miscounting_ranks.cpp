// A rank under mpirun whose meetings have wrong numbers from some transfer on: what a broken transport or executor would do. The
// watch's tests start it: miscounting_ranks RANK FIRST_TRANSFER TRACE
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "runtime/run/mpi_run.h"
#include "scenarios/load.h"
#include "schedule/compile.h"

namespace orrery::runtime {
namespace {

class MiscountingTransfer final : public Transfer {
 public:
  MiscountingTransfer(std::unique_ptr<Transfer> transfer, std::function<bool()> miscounts)
      : transfer_(std::move(transfer)), miscounts_(std::move(miscounts)) {}
  void start(std::span<const std::uint64_t> sequences) override {
    std::vector<std::uint64_t> numbers(sequences.begin(), sequences.end());
    if (miscounts_())
      for (std::uint64_t& number : numbers) ++number;
    transfer_->start(numbers);
  }
  bool test() override { return transfer_->test(); }

 private:
  std::unique_ptr<Transfer> transfer_;
  std::function<bool()> miscounts_;
};

class MiscountingCommunicator final : public Communicator {
 public:
  MiscountingCommunicator(std::unique_ptr<Communicator> communicator, std::function<bool()> miscounts)
      : communicator_(std::move(communicator)), miscounts_(std::move(miscounts)) {}
  int index() const override { return communicator_->index(); }
  int size() const override { return communicator_->size(); }
  std::unique_ptr<Transfer> prepare(std::vector<CommCall> calls) override {
    return std::make_unique<MiscountingTransfer>(communicator_->prepare(std::move(calls)), miscounts_);
  }

 private:
  std::unique_ptr<Communicator> communicator_;
  std::function<bool()> miscounts_;
};

// Only the schedule's own groups: what ranks tell each other beside it goes right.
class MiscountingWorld final : public MpiWorld {
 public:
  MiscountingWorld(std::unique_ptr<MpiWorld> world, int who, std::int64_t from) : world_(std::move(world)), who_(who), from_(from) {}
  int rank() const override { return world_->rank(); }
  int size() const override { return world_->size(); }
  Bell& bell() override { return world_->bell(); }
  std::unique_ptr<Communicator> communicator(const std::vector<int>& ranks, const std::string& name) override {
    auto communicator = world_->communicator(ranks, name);
    const bool beside = name == "start" || name == "end of step" || name == "between runs";
    if (beside || rank() != who_) return communicator;
    return std::make_unique<MiscountingCommunicator>(std::move(communicator), [this] { return ++started_ >= from_; });
  }

 private:
  void abort_others(int exit_code) override { world_->abort(exit_code); }

  std::unique_ptr<MpiWorld> world_;
  int who_;
  std::int64_t from_, started_ = 0;
};

int run(int argc, char** argv) {
  const Launcher launcher;
  auto world = make_mpi_world(argc, argv);
  MpiRun mpi(std::make_unique<MiscountingWorld>(std::move(world), std::atoi(argv[1]), std::atoll(argv[2])), launcher);
  const auto scenario = scenarios::load_scenarios(
      {"scenarios/cpu/gpt-3d.json"}, {"cluster.node.gpus=4", "parallel.tp=1", "parallel.sp=false", "model.hidden=32",
                                      "model.head_dim=8", "model.ffn_hidden=64"}).front();
  const schedule::Schedule schedule = schedule::compile(scenario);
  const auto tokens = pattern_tokens(schedule.model.vocab, schedule.hyper.seed);
  RunJob job{&schedule, tokens.get(), schedule::fingerprint(schedule), {}, mpi.job_word()};
  job.options.steps = 1'000'000;
  StopSign stop;
  mpi.run(job, stop, {.no_progress_s = 2.0}, {}, argv[3]);
  return 0;
}

}  // namespace
}  // namespace orrery::runtime

int main(int argc, char** argv) { return argc == 4 ? orrery::runtime::run(argc, argv) : 2; }
