#include "runtime/comm/thread_world.h"

#include <fmt/format.h>

#include <deque>
#include <map>
#include <mutex>
#include <numeric>

#include "base/check.h"
#include "runtime/comm/group_check.h"
#include "runtime/comm/thread_side.h"

namespace orrery::runtime {
namespace {

constexpr std::int64_t kBudget = 1 << 20;  // bytes of one test()

// What all ranks share.
struct Ranks {
  explicit Ranks(int size) : bells(static_cast<std::size_t>(size)) {}
  std::deque<ThreadBell> bells;
};

// What the members of one communicator share.
struct Group {
  Group(std::vector<int> members, std::string given_name, std::shared_ptr<Ranks> of)
      : ranks(std::move(members)),
        name(std::move(given_name)),
        all(std::move(of)),
        collectives(ranks.size()) {}

  Line& messages(std::int64_t from, std::int64_t to, std::uint32_t channel) {
    const std::lock_guard lock(mutex);
    return lines.try_emplace({from, to, channel}, 2).first->second;
  }

  std::vector<int> ranks;
  std::string name;
  std::shared_ptr<Ranks> all;
  Line collectives;
  std::mutex mutex;
  std::map<std::tuple<std::int64_t, std::int64_t, std::uint32_t>, Line> lines;
};

// Where members find their groups.
struct Hub {
  explicit Hub(int size) : all(std::make_shared<Ranks>(size)) {}

  // The `index`-th group of these ranks.
  std::shared_ptr<Group> group(const std::vector<int>& ranks, std::size_t index, const std::string& name) {
    const std::lock_guard lock(mutex);
    std::vector<std::shared_ptr<Group>>& made = groups[ranks];
    if (index == made.size()) made.push_back(std::make_shared<Group>(ranks, name, all));
    if (made[index]->name != name)
      throw CommError(
          fmt::format("communicators are not made in the same order: {} meets {}", name, made[index]->name));
    return made[index];
  }

  std::shared_ptr<Ranks> all;
  std::mutex mutex;
  std::map<std::vector<int>, std::vector<std::shared_ptr<Group>>> groups;
};

class ThreadTransfer final : public Transfer {
 public:
  ThreadTransfer(std::shared_ptr<Group> group, ThreadBell& bell, std::vector<ThreadSide> sides)
      : group_(std::move(group)), bell_(bell), sides_(std::move(sides)) {}
  ThreadTransfer(const ThreadTransfer&) = delete;
  ThreadTransfer& operator=(const ThreadTransfer&) = delete;
  ~ThreadTransfer() override {
    for (ThreadSide& side : sides_) side.give_up();
  }

  void start(std::span<const std::uint64_t> sequences) override {
    CHECK(sequences.size() == sides_.size(), sequences.size(), sides_.size());
    for (std::size_t i = 0; i < sides_.size(); ++i) sides_[i].start(sequences[i]);
  }

  bool test() override {
    std::int64_t budget = kBudget;
    bool all = true;
    for (ThreadSide& side : sides_) all = side.advance(budget) && all;
    if (!all && budget <= 0) bell_.ring();
    return all;
  }

 private:
  std::shared_ptr<Group> group_;
  ThreadBell& bell_;
  std::vector<ThreadSide> sides_;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<Group> group, int index) : group_(std::move(group)), index_(index) {}
  int index() const override { return index_; }
  int size() const override { return static_cast<int>(group_->ranks.size()); }

  std::unique_ptr<Transfer> prepare(std::vector<CommCall> calls) override {
    std::vector<ThreadSide> sides;
    for (CommCall& call : calls) {
      check_call(call, size());
      sides.push_back(side(std::move(call)));
    }
    return std::make_unique<ThreadTransfer>(group_, *bell(index_), std::move(sides));
  }

 private:
  ThreadBell* bell(std::int64_t member) const {
    return &group_->all->bells[static_cast<std::size_t>(group_->ranks[static_cast<std::size_t>(member)])];
  }

  ThreadSide side(CommCall call) {
    std::vector<std::int64_t> members(group_->ranks.size());
    int seat = index_;
    const bool sends = call.kind == CommKind::send, receives = call.kind == CommKind::recv;
    if (sends || receives) {
      members = {sends ? index_ : call.peer, sends ? call.peer : index_};
      seat = sends ? 0 : 1;
    } else {
      std::iota(members.begin(), members.end(), 0);
    }
    Line& line = sends || receives ? group_->messages(members[0], members[1], call.channel) : group_->collectives;
    std::vector<int> ranks;
    std::vector<ThreadBell*> bells;
    for (const std::int64_t member : members) {
      ranks.push_back(group_->ranks[static_cast<std::size_t>(member)]);
      bells.push_back(bell(member));
    }
    return {std::move(call), line, ranks, bells, seat};
  }

  std::shared_ptr<Group> group_;
  int index_;
};

class ThreadWorld final : public World {
 public:
  ThreadWorld(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hub_->all->bells.size()); }

  std::unique_ptr<Communicator> communicator(const std::vector<int>& ranks, const std::string& name) override {
    const int index = index_in_group(ranks, rank_, size(), name);
    return std::make_unique<ThreadCommunicator>(hub_->group(ranks, made_[ranks]++, name), index);
  }

  Bell& bell() override { return hub_->all->bells[static_cast<std::size_t>(rank_)]; }

 private:
  std::shared_ptr<Hub> hub_;
  int rank_;
  std::map<std::vector<int>, std::size_t> made_;
};

}  // namespace

std::vector<std::unique_ptr<World>> make_thread_worlds(int size) {
  CHECK(size > 0, size);
  const auto hub = std::make_shared<Hub>(size);
  std::vector<std::unique_ptr<World>> worlds;
  worlds.reserve(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) worlds.push_back(std::make_unique<ThreadWorld>(hub, rank));
  return worlds;
}

}  // namespace orrery::runtime
