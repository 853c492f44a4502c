// Messages between pipeline stages. Without overlap they sit on the compute stream between two actions, the
// sends of the first and the receives of the second in one group (Megatron-LM's send_forward_recv_backward);
// with it they have streams of their own, and a receive is posted one action ahead.
#pragma once

#include <map>
#include <vector>

#include "schedule/compile/pipeline_order.h"
#include "schedule/compile/stage.h"

namespace orrery::schedule {

struct Message {
  bool sends = false, backward = false;
  std::uint32_t chunk = 0, microbatch = 0;
  bool joined = false;  // it leaves when an F&B block is over, in which the other chunk goes the other way
  bool operator==(const Message&) const = default;
};

// One action with the messages around it.
struct StageStep {
  Action action;
  bool last_of_chunk = false;  // nothing of this chunk comes later: its gradients are complete
  bool first_of_chunk = false;  // the first forward, where what is made of weights then stays for the step
  bool defers = false;  // its output weight gradient comes later (schedule/compile/deferred_head.h)
  std::vector<Message> before, after;
};

std::vector<StageStep> plan_messages(const Stage& s, const Order& order);

// One block for each kind of message, written when first needed.
class MessageBlocks {
 public:
  explicit MessageBlocks(Stage& s) : stage_(s) {}
  BlockId block(const Message& message, bool grouped);

 private:
  Stage& stage_;
  std::map<std::uint32_t, BlockId> known_;
};

}  // namespace orrery::schedule
