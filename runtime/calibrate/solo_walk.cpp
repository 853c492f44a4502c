#include "runtime/calibrate/solo_walk.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "runtime/calibrate/local_messages.h"
#include "runtime/calibrate/samples.h"
#include "runtime/executor/element.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/order.h"
#include "runtime/machine/memory.h"
#include "runtime/state/initialise.h"
#include "runtime/state/layout.h"

namespace orrery::runtime {
namespace {

ElementBytes sizes_on(const Device& device) {
  ElementBytes bytes{};
  for (std::size_t t = 0; t < bytes.size(); ++t)
    bytes[t] = device.element_bytes(static_cast<schedule::DataType>(t));
  return bytes;
}

}  // namespace

SoloWalk::Pages::Pages(std::int64_t bytes)
    : bytes_(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1))) {
  void* const memory =
      ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw WorldError(refused_memory(bytes, std::strerror(errno)));
  data_ = static_cast<std::byte*>(memory);
}

SoloWalk::Pages::~Pages() { ::munmap(data_, bytes_); }

// The persistent buffers, as runtime/state sees them.
class SoloWalk::State final : public StateMemory {
 public:
  explicit State(const SoloWalk& walk) : walk_(walk) {}
  std::byte* address(schedule::BufferRef ref) override {
    const std::vector<Allocation>& all = walk_.plan_.allocations;
    for (std::size_t a = 0; a < all.size() && all[a].persistent; ++a)
      if (all[a].buffer == ref.buffer && all[a].instance == ref.instance)
        return walk_.base_of(walk_.plan_.buffer(all[a])) + walk_.arena_.offset[a];
    CHECK(false, "not a persistent buffer", ref.buffer.value);
    return nullptr;
  }
  Element element(BufferId buffer) const override {
    return element_of(walk_.plan_.program->buffers[buffer.index()].type, false);
  }

 private:
  const SoloWalk& walk_;
};

SoloWalk::SoloWalk(const schedule::Schedule& schedule, std::int64_t rank, const TokenSource& tokens)
    : device_(cpu_job(schedule, tokens, false)),
      plan_(plan_step(schedule, rank)),
      arena_(plan_arena(plan_, Order(plan_), sizes_on(device_))),
      device_memory_(arena_.device_bytes),
      host_(arena_.host_bytes) {
  view_data_.reserve(plan_.views.size());
  for (const PlannedView& v : plan_.views) {
    const schedule::Buffer& buffer = plan_.buffer(plan_.allocations[v.allocation]);
    view_data_.push_back(base_of(buffer) + arena_.offset[v.allocation] +
                         v.offset * device_.element_bytes(buffer.type));
  }
  State state(*this);
  initialise(schedule, state_layout(schedule, rank), state);
}

OpCall SoloWalk::call_of(std::uint32_t op) const {
  const PlannedOp& planned = plan_.ops[op];
  return {&plan_, op, step_, {view_data_.data() + planned.first_view, planned.view_count}};
}

void SoloWalk::step(const std::function<bool(const Timing&)>& each) {
  CoreWatch watch;
  for (std::uint32_t op = 0; op < plan_.ops.size(); ++op) {
    const schedule::OpKind kind = plan_.ops[op].op->kind;
    if (kind == schedule::OpKind::host_wait) continue;
    const OpCall call = call_of(op);
    if (schedule::is_communication(kind)) {
      stand_in_for_message(call, device_);
      continue;
    }
    watch.begin();
    const std::int64_t began = now_ns();
    device_.perform(call);
    const std::int64_t wall = now_ns() - began, ran = watch.ran_ns();
    const bool lost = CoreWatch::lost(wall, ran);
    const Timing timing{op, lost ? ran : wall, lost};
    if (!each(timing)) return;
  }
  ++step_;
}

}  // namespace orrery::runtime
