#include "runtime/cpu/cpu_device.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "runtime/cpu/fill_in_pieces.h"
#include "runtime/cpu/operands.h"
#include "runtime/cpu/perform.h"
#include "runtime/machine/memory.h"

namespace orrery::runtime {
namespace {

void write_input(const CpuJob& job, const PerformContext& c) {
  const Operands& o = c.operands;
  const std::int64_t count = job.batch * job.sequence;
  const auto place = [&](Role role) -> std::span<std::int32_t> {
    thread_local std::vector<std::int32_t> unwanted;
    const Matrix<std::int32_t> out = o.place<std::int32_t>(role);
    if (!out.exists()) {
      unwanted.resize(static_cast<std::size_t>(count));
      return unwanted;
    }
    CHECK(out.count() == count && out.stride == out.columns, "an input of another size", out.count());
    return {out.data, static_cast<std::size_t>(count)};
  };
  const schedule::ContextPlace context = c.placement.context();
  const std::vector<schedule::PositionRun> positions = schedule::positions_of(context, job.sequence);
  fill_microbatch(*job.tokens,
                  {.step = o.call().step,
                   .first_sequence = c.placement.first_sequence(),
                   .batch = job.batch,
                   .length = job.sequence * context.ring * context.ulysses,
                   .positions = positions},
                  place(Role::tokens), place(Role::labels));
}

bool is_optimizer(OpKind kind) { return kind == OpKind::adam || kind == OpKind::cpu_adam || kind == OpKind::sgd; }

}  // namespace

void CpuDevice::Unmap::operator()(std::byte* memory) const { ::munmap(memory, static_cast<std::size_t>(bytes)); }

std::byte* CpuDevice::allocate(std::int64_t bytes, const std::function<void()>& moved) {
  bytes = std::max<std::int64_t>(bytes, 1);
  void* const memory = ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw WorldError(refused_memory(bytes, std::strerror(errno)));
  memory_.emplace_back(static_cast<std::byte*>(memory), Unmap{bytes});
  // Touched here, by the thread that will use it, so that no step pays for it.
  fill_in_pieces({memory_.back().get(), static_cast<std::size_t>(bytes)}, std::byte{0xff}, moved);
  return memory_.back().get();
}

std::int64_t CpuDevice::element_bytes(schedule::DataType type) const {
  const bool floating = type == DataType::fp32 || type == DataType::bf16 || type == DataType::fp16;
  return job_.in_double && floating ? 8 : schedule::size_of(type);
}

void CpuDevice::resume(const OptimizerProgress& progress) {
  progress_ = progress;
  if (job_.scales_loss) loss_scale_.store(progress_.scaler.scale);
}

void CpuDevice::begin_optimizer_step(const OpCall& call) {
  if (decided_step_ == call.step) return;
  decided_step_ = call.step;
  skips_ = false;
  scale_of_gradients_ = loss_scale_.load();
  if (job_.scales_loss) {
    const Operands operands(call, job_.in_double);
    CHECK(operands.has(Role::norm), "a scaled loss needs the gradients' norm");
    skips_ = kernels::overflowed(static_cast<double>(*operands.in<float>(Role::norm).data));
    progress_.scaler = kernels::after_step(progress_.scaler, skips_);
    loss_scale_.store(progress_.scaler.scale);
  }
  if (!skips_) ++progress_.optimizer_steps;
}

double CpuDevice::perform(const OpCall& call) {
  const OpKind kind = call.op().op->kind;
  const Operands operands(call, job_.in_double);
  PerformContext context{job_, operands, Placement(job_, call), loss_scale_.load(std::memory_order_relaxed)};
  if (kind == OpKind::input) return write_input(job_, context), 0.0;
  // What the optimizer's ops decide and read is theirs alone: other lanes perform at the same time.
  OptimizerContext optimizer{};
  if (is_optimizer(kind)) {
    begin_optimizer_step(call);
    context.loss_scale = scale_of_gradients_;
    optimizer = {progress_.optimizer_steps, skips_};
  }
  double loss = 0.0;
  const bool known = perform_linear(context) || perform_pointwise(context) || perform_attention(context) ||
                     perform_experts(context) ||
                     perform_embedding(context) || perform_quantise(context) || perform_loss(context, loss) ||
                     perform_optimizer(context, optimizer);
  CHECK(known, "no kernel for", schedule::name(kind));
  return loss;
}

}  // namespace orrery::runtime
