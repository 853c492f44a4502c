// Many transfers at once: several groups and channels, begun in another order on every rank, prepared once and used
// over many steps; and the way an executor uses them, two lanes to a rank.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <random>
#include <thread>

#include "tests/runtime/comm/memory.h"
#include "tests/runtime/comm/ranks.h"

namespace orrery::runtime::test {
namespace {

// What happens between some ranks: an all_reduce of a group, or a message between two members.
struct Deed {
  std::size_t group = 0;
  CommKind kind = CommKind::all_reduce;
  int from = 0, to = 0;  // members, of a message
  std::uint32_t channel = 0;
  std::int64_t count = 0;
};

std::vector<std::vector<int>> groups_of(int n) {
  std::vector<std::vector<int>> groups{first_ranks(n), first_ranks(n)};
  for (int first = 0; first + 1 < n; first += 2) groups.push_back({first + 1, first});  // not in the order of ranks
  std::vector<int> even;
  for (int rank = 0; rank < n; rank += 2) even.push_back(rank);
  groups.push_back(even);
  return groups;
}

std::vector<Deed> draw_deeds(const std::vector<std::vector<int>>& groups, std::size_t deeds) {
  std::mt19937 random(42);
  const auto below = [&](std::size_t limit) { return random() % limit; };
  std::vector<Deed> result;
  for (std::size_t i = 0; i < deeds; ++i) {
    Deed deed;
    deed.group = below(groups.size());
    deed.count = static_cast<std::int64_t>(i % 9 == 0 ? 70'000 + below(1000) : below(600));
    const std::size_t size = groups[deed.group].size();
    if (size > 1 && below(2) == 0) {
      deed.kind = CommKind::send;
      deed.from = static_cast<int>(below(size));
      deed.to = static_cast<int>((static_cast<std::size_t>(deed.from) + 1 + below(size - 1)) % size);
      deed.channel = static_cast<std::uint32_t>(below(3));
    }
    result.push_back(deed);
  }
  return result;
}

// One rank's part of a deed.
struct Part {
  std::size_t deed = 0;
  int member = 0;
  Rectangle memory{Element::fp32, 0, Layout::flat};
  std::unique_ptr<Transfer> transfer;
  std::uint64_t sequence = 0;
  bool done = false;
};

class Player {
 public:
  Player(World& world, int n, std::size_t deeds)
      : world_(world), groups_(groups_of(n)), deeds_(draw_deeds(groups_, deeds)) {
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const bool member = std::count(groups_[g].begin(), groups_[g].end(), world.rank()) > 0;
      communicators_.push_back(member ? world.communicator(groups_[g], "group " + std::to_string(g)) : nullptr);
    }
    for (std::size_t d = 0; d < deeds_.size(); ++d) prepare(d);
  }

  void step(std::uint64_t step) {
    std::vector<Part*> order;
    for (Part& part : parts_) {
      part.memory.fill(content(part, step, part.member));
      part.sequence = numbers_[part.deed] + step * period_[part.deed];
      part.done = false;
      order.push_back(&part);
    }
    std::mt19937 random(static_cast<unsigned>(world_.rank() * 1000) + static_cast<unsigned>(step));
    std::shuffle(order.begin(), order.end(), random);
    for (Part* part : order) part->transfer->start({&part->sequence, 1});
    for (std::size_t open = order.size(); open > 0;) {
      const std::uint64_t heard = world_.bell().heard();
      for (Part* part : order)
        if (!part->done && part->transfer->test()) part->done = true, --open;
      if (open > 0) world_.bell().wait(heard);
    }
    for (const Part& part : parts_) check(part, step);
  }

 private:
  // The k-th of its numbering in a step, and how many that has in a step.
  void number() {
    std::map<std::tuple<std::size_t, CommKind, int, int, std::uint32_t>, std::uint64_t> next;
    const auto key = [](const Deed& d) { return std::tuple(d.group, d.kind, d.from, d.to, d.channel); };
    for (const Deed& deed : deeds_) numbers_.push_back(next[key(deed)]++);
    for (const Deed& deed : deeds_) period_.push_back(next[key(deed)]);
  }

  void prepare(std::size_t d) {
    if (numbers_.empty()) number();
    const Deed& deed = deeds_[d];
    if (communicators_[deed.group] == nullptr) return;
    const int me = communicators_[deed.group]->index();
    if (deed.kind == CommKind::send && me != deed.from && me != deed.to) return;
    Part& part = parts_.emplace_back();
    part.deed = d;
    part.member = me;
    part.memory = Rectangle(Element::fp32, deed.count, static_cast<Layout>(d % 3));
    CommCall call;
    call.kind = deed.kind == CommKind::send && me == deed.to ? CommKind::recv : deed.kind;
    call.peer = me == deed.from ? deed.to : deed.from;
    call.channel = deed.channel;
    (call.kind == CommKind::send ? call.x : call.y).push_back(part.memory.piece());
    call.what = "deed " + std::to_string(d);
    call.signature = d;
    part.transfer = communicators_[deed.group]->prepare({call});
  }

  Flat content(const Part& part, std::uint64_t step, int member) const {
    return drawn(Element::fp32, deeds_[part.deed].count,
                 (step * 1000 + part.deed) * 16 + static_cast<std::uint64_t>(member));
  }

  void check(const Part& part, std::uint64_t step) const {
    const Deed& deed = deeds_[part.deed];
    Flat should;
    if (deed.kind == CommKind::send) {
      should = content(part, step, deed.from);
    } else {
      std::vector<Flat> all;
      for (std::size_t m = 0; m < groups_[deed.group].size(); ++m)
        all.push_back(content(part, step, static_cast<int>(m)));
      should = combined(Element::fp32, CommReduce::sum, all);
    }
    EXPECT_EQ(part.memory.values(), should) << "deed " << part.deed << " in step " << step;
    EXPECT_TRUE(part.memory.margins_untouched());
  }

  World& world_;
  std::vector<std::vector<int>> groups_;
  std::vector<Deed> deeds_;
  std::vector<std::uint64_t> numbers_, period_;
  std::vector<std::unique_ptr<Communicator>> communicators_;
  std::vector<Part> parts_;
};

TEST(Interleaving, AnyOrderOfBeginning) {
  for (const int n : rank_counts())
    on_ranks(n, [&](World& world) {
      Player player(world, n, 40);
      for (std::uint64_t step = 0; step < 6; ++step) player.step(step);
    });
}

// Two lanes of one rank: each has its own transfers, whoever waits takes the lock and drives those of both.
class Lanes {
 public:
  explicit Lanes(World& world) : world_(world) {}

  void run_one(Transfer& mine, std::uint64_t sequence) {
    {
      const std::lock_guard lock(mutex_);
      mine.start({&sequence, 1});
      open_.push_back(&mine);
    }
    for (;;) {
      const std::uint64_t heard = world_.bell().heard();
      bool somebody_is_done = false;
      {
        const std::lock_guard lock(mutex_);
        somebody_is_done = std::erase_if(open_, [](Transfer* transfer) { return transfer->test(); }) > 0;
        if (std::find(open_.begin(), open_.end(), &mine) == open_.end()) {
          if (somebody_is_done) world_.bell().ring();
          return;
        }
      }
      if (somebody_is_done) {
        world_.bell().ring();
      } else {
        world_.bell().wait(heard);
      }
    }
  }

 private:
  World& world_;
  std::mutex mutex_;
  std::vector<Transfer*> open_;
};

TEST(Interleaving, TwoLanesToARank) {
  for (const int n : {2, 4}) {
    if (n > rank_counts().back()) continue;
    on_ranks(n, [&](World& world) {
      std::vector<std::unique_ptr<Communicator>> communicators;
      for (const char* name : {"lane 0", "lane 1"}) communicators.push_back(world.communicator(first_ranks(n), name));
      std::vector<Rectangle> memory(2, Rectangle(Element::fp32, 0, Layout::flat));
      std::vector<std::unique_ptr<Transfer>> transfers;
      for (std::size_t lane = 0; lane < 2; ++lane) {
        memory[lane] = Rectangle(Element::fp32, lane == 0 ? 100 : 300'000, Layout::flat);
        CommCall call;
        call.kind = CommKind::all_reduce;
        call.what = "all_reduce of a lane";
        call.y = {memory[lane].piece()};
        transfers.push_back(communicators[lane]->prepare({call}));
      }
      Lanes lanes(world);
      const auto lane = [&](std::size_t l) {
        const std::int64_t count = l == 0 ? 100 : 300'000;
        for (std::uint64_t step = 0; step < (l == 0 ? 60U : 3U); ++step) {
          std::vector<Flat> all;
          for (int member = 0; member < n; ++member)
            all.push_back(drawn(Element::fp32, count, step * 16 + static_cast<std::uint64_t>(member)));
          memory[l].fill(all[static_cast<std::size_t>(world.rank())]);
          lanes.run_one(*transfers[l], step);
          EXPECT_EQ(memory[l].values(), combined(Element::fp32, CommReduce::sum, all))
              << "lane " << l << " step " << step;
        }
      };
      std::thread other(lane, 1);
      lane(0);
      other.join();
    });
  }
}

}  // namespace
}  // namespace orrery::runtime::test
