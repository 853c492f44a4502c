// Every collective gives bitwise what its plain meaning gives, on every rank, for all types, sizes and layouts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>

#include "tests/runtime/comm/memory.h"
#include "tests/runtime/comm/ranks.h"

namespace orrery::runtime::test {
namespace {

constexpr Element kElements[] = {Element::fp32, Element::fp64,  Element::bf16,
                                 Element::fp16, Element::int32, Element::byte};
constexpr CommKind kCollectives[] = {CommKind::all_reduce, CommKind::reduce_scatter, CommKind::all_gather,
                                     CommKind::all_to_all, CommKind::broadcast};

struct Case {
  CommCall call;                     // without memory
  std::vector<std::int64_t> counts;  // of each piece; times the members where it is cut into chunks
  bool same_layout = true;           // else each member lays its pieces out in another way
};

struct Counts {
  std::int64_t x = 0, y = 0;
};

Counts counts_of(CommKind kind, std::int64_t count, std::int64_t n) {
  switch (kind) {
    case CommKind::reduce_scatter:
      return {count * n, count};
    case CommKind::all_gather:
      return {count, count * n};
    case CommKind::all_to_all:
      return {count * n, count * n};
    case CommKind::all_reduce:
    case CommKind::broadcast:
      return {-1, count};
    case CommKind::send:
    case CommKind::recv:
    case CommKind::barrier:
      break;
  }
  return {-1, -1};
}

// x (or y) of one member before the call; -1: it has none.
Pieces drawn_pieces(const Case& c, std::int64_t n, int member, bool is_x, std::uint64_t seed) {
  Pieces result;
  for (std::size_t p = 0; p < c.counts.size(); ++p) {
    const Counts counts = counts_of(c.call.kind, c.counts[p], n);
    const std::int64_t count = is_x ? counts.x : counts.y;
    const std::uint64_t place = (static_cast<std::uint64_t>(member) * 64 + p) * 2 + (is_x ? 1 : 0);
    if (count >= 0) result.push_back(drawn(c.call.element, count, seed * 100003 + place));
  }
  return result;
}

std::string described(const Case& c, int n) {
  std::string text = std::string(name_of(c.call.kind)) + " of " + std::string(name_of(c.call.element)) + " x";
  for (const std::int64_t count : c.counts) text += " " + std::to_string(count);
  return text + (c.same_layout ? "" : ", laid out variously") + ", ranks: " + std::to_string(n);
}

void check(World& world, Communicator& communicator, Case c, std::uint64_t sequence) {
  const int n = communicator.size(), me = communicator.index();
  std::vector<Pieces> x, y;
  for (int member = 0; member < n; ++member) {
    x.push_back(drawn_pieces(c, n, member, true, sequence));
    y.push_back(drawn_pieces(c, n, member, false, sequence));
    if (x.back().empty()) x.back().resize(y.back().size());
  }
  const auto layout = static_cast<Layout>(c.same_layout ? 0 : (static_cast<std::uint64_t>(me) + sequence) % 3);
  const bool has_x = counts_of(c.call.kind, 1, n).x > 0;
  std::vector<Rectangle> mine_x, mine_y = rectangles(y[static_cast<std::size_t>(me)], c.call.element, layout);
  if (has_x) mine_x = rectangles(x[static_cast<std::size_t>(me)], c.call.element, layout);
  c.call.x = pieces(mine_x);
  c.call.y = pieces(mine_y);
  c.call.what = described(c, n);
  perform(world, communicator, {c.call}, {sequence});
  EXPECT_EQ(values(mine_y), expected(c.call, me, x, y)) << c.call.what << ", on member " << me;
  if (has_x) {
    EXPECT_EQ(values(mine_x), x[static_cast<std::size_t>(me)]) << c.call.what;
  }
  EXPECT_TRUE(margins_untouched(mine_x) && margins_untouched(mine_y)) << c.call.what;
}

void check_all(const std::vector<Case>& cases, int ranks_max = 8) {
  for (const int n : rank_counts()) {
    if (n > ranks_max) continue;
    on_ranks(n, [&](World& world) {
      const auto communicator = world.communicator(first_ranks(n), "all");
      std::uint64_t sequence = 0;
      for (const Case& c : cases) check(world, *communicator, c, sequence++);
    });
  }
}

Case case_of(CommKind kind, Element element, std::vector<std::int64_t> counts) {
  Case c;
  c.call.kind = kind;
  c.call.element = element;
  c.counts = std::move(counts);
  return c;
}

TEST(Collectives, OfEveryKindAndType) {
  std::vector<Case> cases;
  for (const CommKind kind : kCollectives)
    for (const Element element : kElements)
      for (const std::int64_t count : {0, 1, 7, 1001}) cases.push_back(case_of(kind, element, {count}));
  check_all(cases);
}

TEST(Collectives, OfLargeSizes) {
  std::vector<Case> cases;
  for (const CommKind kind : kCollectives)
    for (const Element element : {Element::fp32, Element::bf16}) cases.push_back(case_of(kind, element, {150'001}));
  check_all(cases, 3);
}

TEST(Collectives, OfSeveralPiecesLaidOutVariously) {
  std::vector<Case> cases;
  for (const CommKind kind : kCollectives)
    for (const Element element : {Element::fp32, Element::fp16, Element::byte}) {
      for (const std::vector<std::int64_t>& counts :
           {std::vector<std::int64_t>{30, 0, 7}, {1, 2048, 5000, 6}, {0, 0}, {210, 10'000}})
        cases.push_back(case_of(kind, element, counts));
    }
  for (Case& c : cases) c.same_layout = false;
  check_all(cases);
}

TEST(Collectives, TakeTheMaximum) {
  std::vector<Case> cases;
  for (const CommKind kind : {CommKind::all_reduce, CommKind::reduce_scatter})
    for (const Element element : kElements)
      for (const std::int64_t count : {1, 3000}) {
        cases.push_back(case_of(kind, element, {count}));
        cases.back().call.reduce = CommReduce::max;
      }
  check_all(cases);
}

TEST(Collectives, ReduceScatterAddsToWhatIsThere) {
  std::vector<Case> cases;
  for (const Element element : kElements)
    for (const std::int64_t count : {1, 3001}) {
      cases.push_back(case_of(CommKind::reduce_scatter, element, {count, 12}));
      cases.back().call.adds = true;
      cases.back().same_layout = count == 1;
    }
  check_all(cases);
}

TEST(Collectives, WorkInPlace) {
  for (const int n : rank_counts())
    on_ranks(n, [&](World& world) {
      const auto communicator = world.communicator(first_ranks(n), "all");
      std::uint64_t sequence = 0;
      for (const std::int64_t count : {5, 1500, 90'000}) {
        std::vector<Flat> x;
        for (int member = 0; member < n; ++member)
          x.push_back(drawn(Element::fp32, count * n, static_cast<std::uint64_t>(count + member)));
        const auto me = static_cast<std::size_t>(world.rank());
        Rectangle whole(Element::fp32, count * n, Layout::flat);
        whole.fill(x[me]);
        CommCall call;
        Piece own = whole.piece();
        own.data += count * world.rank() * 4;
        own.columns = own.stride = count;
        call.what = "in place";
        call.kind = CommKind::reduce_scatter;
        call.x = {whole.piece()};
        call.y = {own};
        perform(world, *communicator, {call}, {sequence++});
        call.kind = CommKind::all_gather;
        std::swap(call.x, call.y);
        perform(world, *communicator, {call}, {sequence++});
        EXPECT_EQ(whole.values(), combined(Element::fp32, CommReduce::sum, x)) << count << " x " << n;
      }
    });
}

TEST(Collectives, AllReduceIsReduceScatterAndAllGather) {
  for (const int n : rank_counts())
    for (const Element element : {Element::fp32, Element::bf16})
      for (const std::int64_t count : {3, 2000, 40'000}) {
        std::vector<Flat> reduced(static_cast<std::size_t>(n)), gathered(static_cast<std::size_t>(n));
        std::vector<bool> here(static_cast<std::size_t>(n), false);
        std::mutex mutex;
        on_ranks(n, [&](World& world) {
          const auto communicator = world.communicator(first_ranks(n), "all");
          const Flat x = drawn(element, count * n, static_cast<std::uint64_t>(world.rank()));
          Rectangle one(element, count * n, Layout::flat), sum(element, count * n, Layout::flat),
              part(element, count, Layout::flat);
          one.fill(x);
          sum.fill(x);
          CommCall all_reduce, reduce_scatter, all_gather;
          all_reduce.what = reduce_scatter.what = all_gather.what = "sum";
          all_reduce.element = reduce_scatter.element = all_gather.element = element;
          all_reduce.kind = CommKind::all_reduce;
          all_reduce.y = {sum.piece()};
          reduce_scatter.kind = CommKind::reduce_scatter;
          reduce_scatter.x = {one.piece()};
          reduce_scatter.y = all_gather.x = {part.piece()};
          all_gather.kind = CommKind::all_gather;
          all_gather.y = {one.piece()};
          perform(world, *communicator, {all_reduce}, {0});
          perform(world, *communicator, {reduce_scatter}, {1});
          perform(world, *communicator, {all_gather}, {2});
          const std::lock_guard lock(mutex);
          const auto me = static_cast<std::size_t>(world.rank());
          reduced[me] = sum.values();
          gathered[me] = one.values();
          here[me] = true;
        });
        for (std::size_t i = 0; i < reduced.size(); ++i) {
          if (!here[i]) continue;  // another process
          EXPECT_EQ(reduced[i], gathered[i]);
          if (here[0]) {
            EXPECT_EQ(reduced[i], reduced[0]);
          }
        }
      }
}

TEST(Collectives, BarrierHoldsUntilAllHaveCome) {
  for (const int n : rank_counts()) {
    if (n == 1) continue;
    on_ranks(n, [&](World& world) {
      const auto communicator = world.communicator(first_ranks(n), "all");
      CommCall call;
      call.what = "barrier";
      const auto barrier = communicator->prepare({call});
      for (int late = 0; late < n; ++late) {
        // The late one comes only when the others have told it that they are in and still wait.
        const auto sequence = static_cast<std::uint64_t>(late);
        std::byte told{};
        CommCall tell;
        tell.what = "telling";
        tell.element = Element::byte;
        if (world.rank() == late) {
          std::vector<CommCall> listen;
          for (int other = 0; other < n; ++other) {
            if (other == late) continue;
            tell.kind = CommKind::recv;
            tell.peer = other;
            tell.y = {{&told, 1, 0, 0}};
            listen.push_back(tell);
          }
          perform(world, *communicator, listen, std::vector<std::uint64_t>(listen.size(), 0));
          barrier->start({&sequence, 1});
        } else {
          barrier->start({&sequence, 1});
          for (int look = 0; look < 100; ++look) EXPECT_FALSE(barrier->test());
          tell.kind = CommKind::send;
          tell.peer = late;
          tell.x = {{&told, 1, 0, 0}};
          perform(world, *communicator, {tell}, {0});
        }
        finish(world, *barrier);
        EXPECT_TRUE(barrier->test());
      }
    });
  }
}

}  // namespace
}  // namespace orrery::runtime::test
