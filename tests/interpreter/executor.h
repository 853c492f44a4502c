// Runs all ranks of a Schedule in one thread. Every rank's streams are in-order queues; a queue's first entry may
// start when the events that it waits for have happened; communication starts when all its members' ops have been
// started (rendezvous), and moves the data at that moment. Which of the entries that may start is started next is the
// run's `Order`: a schedule whose dependencies are complete gives the same numbers under every order, one that lacks
// any shows NaN, a use after free, or different numbers under some.
//
// Matching: the k-th collective that a rank issues on a group meets the k-th of the other members; the k-th send from
// a to b on a group with a tag (Op::site) meets the k-th such receive. Deadlock throws, naming what every rank waits for.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "schedule/ir.h"
#include "tests/interpreter/issue.h"
#include "tests/interpreter/memory.h"
#include "tests/interpreter/op_context.h"

namespace orrery::interpreter {

enum class Order : std::uint8_t {
  round_robin,    // one entry of every queue in turn
  rank_first,     // lowest rank as far as it goes, compute stream first
  rank_last,      // highest rank as far as it goes, last stream first
  random,
};

struct RunOptions {
  Order order = Order::round_robin;
  std::uint64_t seed = 1;  // of Order::random
  std::int64_t steps = 1;
};

class Executor {
 public:
  Executor(const schedule::Schedule& schedule, const RunOptions& options);
  void run();  // throws ScheduleError
  RankMemory& memory(std::int64_t rank) { return *ranks_[static_cast<std::size_t>(rank)].memory; }
  // Sum over the cross_entropy_loss ops of each step: every data-parallel rank adds its share, of the tensor ranks
  // (which all compute the same) the first one.
  const std::vector<double>& losses() const { return losses_; }

 private:
  struct Handle {
    std::size_t rank = 0, op = 0;
  };
  struct Meeting {  // one rendezvous
    std::vector<Handle> members;
    std::vector<bool> present;
    std::size_t missing = 0;
  };
  using MeetingKey = std::tuple<std::uint8_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
  struct Queue {
    std::size_t rank = 0, stream = 0, next = 0;
    bool started = false;
  };
  struct Rank {
    std::unique_ptr<RankMemory> memory;
    RankIssue issue;
    std::vector<bool> done;
    std::vector<std::size_t> meeting;  // of each op; none for local ops
    std::vector<const QueueEntry*> run;  // of each op: those that are issued together with it
    bool happened(std::size_t op) const;  // its event: all of its run have ended
  };

  void plan_meetings(std::size_t rank);
  std::size_t join(const MeetingKey& key, std::size_t members, std::size_t index, Handle handle);
  const QueueEntry* head(const Queue& queue) const;
  bool may_start(const Queue& queue) const;
  bool advance(Queue& queue);  // the head has ended: go on
  void start(Queue& queue);
  void start_op(Handle handle);
  void finish(Handle handle);
  std::size_t choose(const std::vector<std::size_t>& ready);
  [[noreturn]] void report_deadlock() const;
  std::string waits_for(const Queue& queue) const;

  const schedule::Schedule& schedule_;
  RunOptions options_;
  Job job_;
  std::vector<Rank> ranks_;
  std::vector<Queue> queues_;
  std::vector<Meeting> meetings_;
  std::map<MeetingKey, std::size_t> known_meetings_;
  std::vector<double> losses_;
  std::mt19937_64 random_;
  std::size_t turn_ = 0;
};

}  // namespace orrery::interpreter
