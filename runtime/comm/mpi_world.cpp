#include "runtime/comm/mpi_world.h"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <functional>
#include <mutex>

#include "base/check.h"
#include "runtime/comm/group_check.h"
#include "runtime/comm/mpi_bell.h"
#include "runtime/comm/mpi_check.h"
#include "runtime/comm/mpi_side.h"

namespace orrery::runtime {
namespace {

// What everything of this process shares.
struct Process {
  MpiBell bell;
  MpiScratch scratch;
  int tag_limit = 32767;
  bool given_up = false;  // MPI may still touch memory, or wait for what never comes
  std::timed_mutex in_mpi;  // held by whoever calls it, since it was promised one caller at a time
};

// The watch calls this while a lane may be inside of MPI. A lane's call ends soon, unless MPI itself is stuck; then it is
// left alone, and mpirun or srun ends the others when this process has ended so.
void end_others(Process& process, int exit_code) {
  if (process.in_mpi.try_lock_for(std::chrono::milliseconds(200))) MPI_Abort(MPI_COMM_WORLD, exit_code);
}

class MpiTransfer final : public Transfer {
 public:
  MpiTransfer(Process& process, std::vector<MpiSide> sides) : process_(process), sides_(std::move(sides)) {}
  MpiTransfer(const MpiTransfer&) = delete;
  MpiTransfer& operator=(const MpiTransfer&) = delete;
  ~MpiTransfer() override {
    const std::lock_guard lock(process_.in_mpi);
    for (MpiSide& side : sides_)
      if (!side.give_up()) process_.given_up = true;
  }

  void start(std::span<const std::uint64_t> sequences) override {
    CHECK(sequences.size() == sides_.size(), sequences.size(), sides_.size());
    const std::lock_guard lock(process_.in_mpi);
    for (std::size_t i = 0; i < sides_.size(); ++i) sides_[i].start(sequences[i]);
    process_.bell.stir();
  }

  bool test() override {
    const std::lock_guard lock(process_.in_mpi);
    bool all = true, moved = false;
    for (MpiSide& side : sides_) all = side.advance(moved) && all;
    if (moved) process_.bell.stir();
    return all;
  }

 private:
  Process& process_;
  std::vector<MpiSide> sides_;
};

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(Process& process, MPI_Comm comm, std::vector<int> ranks, int index)
      : process_(process), comm_(comm), ranks_(std::move(ranks)), index_(index) {}
  int index() const override { return index_; }
  int size() const override { return static_cast<int>(ranks_.size()); }

  std::unique_ptr<Transfer> prepare(std::vector<CommCall> calls) override {
    std::vector<MpiSide> sides;
    for (CommCall& call : calls) {
      check_call(call, size());
      sides.push_back(side(std::move(call)));
    }
    return std::make_unique<MpiTransfer>(process_, std::move(sides));
  }

 private:
  MpiSide side(CommCall call) {
    std::vector<int> members;
    int seat = index_;
    if (call.kind == CommKind::send || call.kind == CommKind::recv) {
      members = {index_, static_cast<int>(call.peer)};
      seat = 0;
      if (call.kind == CommKind::recv) std::swap(members[0], members[1]), seat = 1;
    } else {
      for (int member = 0; member < size(); ++member) members.push_back(member);
    }
    const int rank = ranks_[static_cast<std::size_t>(index_)];
    return {std::move(call), comm_, std::move(members), rank, seat, process_.tag_limit, process_.scratch};
  }

  Process& process_;
  MPI_Comm comm_;
  std::vector<int> ranks_;
  int index_;
};

// All members see it where they do not give the same name.
void check_name(MPI_Comm comm, const std::string& name) {
  const std::uint64_t hash = std::hash<std::string>()(name);
  const std::array<std::uint64_t, 2> mine{hash, ~hash};
  std::array<std::uint64_t, 2> least{};
  MPI_CHECK(MPI_Allreduce(mine.data(), least.data(), 2, MPI_UINT64_T, MPI_MIN, comm));
  if (least[0] != ~least[1])
    throw CommError(fmt::format("communicators are not made in the same order: {} meets another", name));
}

class MpiProcess final : public MpiWorld {
 public:
  MpiProcess(int& argc, char**& argv) {
    int provided = MPI_THREAD_SINGLE;
    MPI_CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided));
    MPI_CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (provided < MPI_THREAD_SERIALIZED) throw WorldError("MPI_Init_thread: this MPI serves only one thread");
    MPI_CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
    MPI_CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size_));
    MPI_CHECK(MPI_Comm_group(MPI_COMM_WORLD, &group_));
    int* limit = nullptr;
    int found = 0;
    MPI_CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&limit), &found));
    if (found != 0) process_.tag_limit = *limit;
  }
  MpiProcess(const MpiProcess&) = delete;
  MpiProcess& operator=(const MpiProcess&) = delete;
  ~MpiProcess() override {
    if (process_.given_up || std::uncaught_exceptions() > 0) {
      end_others(process_, 3);
      std::_Exit(3);
    }
    const std::lock_guard lock(process_.in_mpi);
    MPI_Group_free(&group_);
    MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Bell& bell() override { return process_.bell; }

  // The MPI communicator lives as long as the job: freeing is collective, and there are few.
  std::unique_ptr<Communicator> communicator(const std::vector<int>& ranks, const std::string& name) override {
    const int index = index_in_group(ranks, rank_, size_, name);
    const std::lock_guard lock(process_.in_mpi);
    MPI_Group members = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_CHECK(MPI_Group_incl(group_, static_cast<int>(ranks.size()), ranks.data(), &members));
    MPI_CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, members, 0, &comm));
    MPI_CHECK(MPI_Group_free(&members));
    MPI_CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    check_name(comm, name);
    return std::make_unique<MpiCommunicator>(process_, comm, ranks, index);
  }

 private:
  void abort_others(int exit_code) override { end_others(process_, exit_code); }

  Process process_;
  int rank_ = 0, size_ = 1;
  MPI_Group group_ = MPI_GROUP_NULL;
};

}  // namespace

std::unique_ptr<MpiWorld> make_mpi_world(int& argc, char**& argv) { return std::make_unique<MpiProcess>(argc, argv); }

}  // namespace orrery::runtime
