#include "sim/cost/analytic_cost.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "schedule/kernel_work.h"
#include "sim/cost/attention_model.h"
#include "sim/cost/gemm_model.h"
#include "sim/cost/host_model.h"
#include "sim/cost/memory_model.h"

namespace orrery::sim {
namespace {

using hardware::KernelClass;
using hardware::Precision;
using schedule::KernelShape;
using schedule::OpKind;

// The products of separate attention: one of [m x k] x [k x n] per head and sequence.
GemmCall attention_product(OpKind kind, const KernelShape& shape) {
  const double s = shape.sequence, d = shape.head_dim;
  const bool square_result = kind == OpKind::attention_scores || kind == OpKind::attention_dprobabilities;
  GemmCall call;
  call.m = s;
  call.n = square_result ? s : d;
  call.k = square_result ? d : s;
  call.batch = static_cast<double>(shape.batch) * shape.heads;
  return call;
}

// One product a local expert, all of them alike: what is drawn is how many rows a rank's experts have together.
GemmCall grouped_product(const KernelShape& shape) {
  GemmCall call;
  const double experts = std::max(shape.experts, 1);
  call.m = static_cast<double>(shape.m);
  call.n = static_cast<double>(shape.n);
  call.k = static_cast<double>(shape.k);
  (shape.layout == schedule::Layout::nt ? call.k : call.m) /= experts;
  call.batch = experts;
  return call;
}

GemmCall linear_product(const KernelShape& shape) {
  GemmCall call;
  call.m = static_cast<double>(shape.m);
  call.n = static_cast<double>(shape.n);
  call.k = static_cast<double>(shape.k);
  return call;
}

constexpr std::int64_t kAlignedElements = 8;  // 16 bytes of a 16-bit type

// Radix selection reads its input once per 8-bit digit of an fp32 key, and once more to gather.
constexpr double kTopKPasses = 5.0;

bool reduces(OpKind kind) {
  switch (kind) {
    case OpKind::absmax:
    case OpKind::bias_backward:
    case OpKind::embedding_backward:
    case OpKind::position_backward:
    case OpKind::norm_forward:
    case OpKind::norm_backward:
    case OpKind::head_norm_forward:
    case OpKind::head_norm_backward:
    case OpKind::softmax_forward:
    case OpKind::softmax_backward:
    case OpKind::cross_entropy_max:
    case OpKind::cross_entropy_sum:
    case OpKind::cross_entropy_loss:
    case OpKind::cross_entropy_backward:
    case OpKind::quantise:  // the largest of a block first
    case OpKind::route_forward: case OpKind::route_backward: case OpKind::combine_backward:
      return true;
    case OpKind::fill:
    case OpKind::cast:
    case OpKind::add:
    case OpKind::split_columns:
    case OpKind::join_columns:
    case OpKind::input:
    case OpKind::gemm:
    case OpKind::grouped_gemm:
    case OpKind::permute: case OpKind::combine: case OpKind::expert_sort: case OpKind::expert_unsort:
    case OpKind::embedding_forward:
    case OpKind::position_forward:
    case OpKind::latent_forward: case OpKind::latent_backward: case OpKind::resize_heads:
    case OpKind::rotary_forward: case OpKind::rotary_backward:
    case OpKind::attention_forward:
    case OpKind::attention_backward:
    case OpKind::attention_merge:
    case OpKind::attention_scores:
    case OpKind::attention_context:
    case OpKind::attention_dprobabilities:
    case OpKind::attention_dvalue:
    case OpKind::attention_dquery:
    case OpKind::attention_dkey:
    case OpKind::activation_forward:
    case OpKind::activation_backward:
    case OpKind::dropout_forward:
    case OpKind::dropout_backward:
    case OpKind::bias_dropout_add_forward:
    case OpKind::bias_dropout_add_backward:
    case OpKind::gradient_norm:
    case OpKind::adam:
    case OpKind::sgd:
    case OpKind::cpu_adam:
    case OpKind::top_k_select:
    case OpKind::top_k_apply:
    case OpKind::dequantise:
    case OpKind::all_reduce:
    case OpKind::reduce_scatter:
    case OpKind::all_gather:
    case OpKind::all_to_all:
    case OpKind::broadcast:
    case OpKind::send:
    case OpKind::recv:
    case OpKind::copy_to_host:
    case OpKind::copy_to_device:
    case OpKind::host_wait:
      break;
  }
  return false;
}

// What is not a low-precision product runs in 16 bits.
Precision wide_of(Precision precision) {
  return precision == Precision::fp8 || precision == Precision::fp4 ? Precision::bf16 : precision;
}

class AnalyticCost final : public KernelCost {
 public:
  AnalyticCost(const hardware::Cluster& cluster, Precision precision, bool pinned)
      : fits_(cluster.gpu.fits),
        device_(kernel_device(cluster.gpu, cluster.gpu.peak(wide_of(precision)))),
        cores_(kernel_device(cluster.gpu, cluster.gpu.peak(Precision::fp32))),
        fp8_(kernel_device(cluster.gpu, cluster.gpu.peak(Precision::fp8))),
        fp4_(kernel_device(cluster.gpu, cluster.gpu.peak(Precision::fp4))),
        host_(host_device(cluster)),
        pinned_(pinned) {
    CHECK(cluster.gpu.peak(precision).value() > 0.0, cluster.gpu.name);
    CHECK(device_.peak > 0.0 && device_.hbm > 0.0 && device_.sms > 0.0, cluster.gpu.name);
    for (const hardware::KernelFit& fit : fits_) CHECK(fit.peak_fraction > 0.0, cluster.gpu.name, fit.source);
  }

  KernelTime time(const schedule::Program& program, const schedule::Op& op,
                  const KernelShape& shape) const override {
    if (const std::optional<KernelClass> of = kernel_class(op.kind)) {
      const schedule::KernelWork work = schedule::work_of(program, op, shape);
      const double bytes = static_cast<double>((work.read + work.written).count());
      const hardware::KernelFit& fit = fits_[static_cast<std::size_t>(*of)];
      const KernelDevice& device = device_of(program, op, shape);
      return {Duration::from_seconds_up(kernel_seconds(*of, op, shape, bytes, {fit, device})), Origin::modelled,
              fit.residual_low, fit.residual_high};
    }
    return host_time(program, op, shape);
  }

 private:
  struct Machine {
    const hardware::KernelFit& fit;
    const KernelDevice& device;
  };

  // Strided batches of 16-bit matrices whose rows begin off 16-byte boundaries run on the CUDA cores (docs/models/kernels.md,
  // "Alignment").
  static bool needs_cores(OpKind kind, const KernelShape& shape) {
    return kernel_class(kind) == KernelClass::gemm && shape.head_dim % kAlignedElements != 0;
  }

  // The peak of a product is that of its operands' type.
  const KernelDevice& device_of(const schedule::Program& program, const schedule::Op& op, const KernelShape& shape) const {
    if (op.kind != OpKind::gemm) return needs_cores(op.kind, shape) ? cores_ : device_;
    for (const schedule::View& view : program.views_of(op)) {
      const schedule::DataType type = program.buffer(program.block_of(op), view).type;
      if (type == schedule::DataType::fp8) return fp8_;
      if (type == schedule::DataType::fp4) return fp4_;
    }
    return device_;
  }

  double kernel_seconds(KernelClass of, const schedule::Op& op, const KernelShape& shape, double bytes,
                        const Machine& machine) const {
    const auto& [fit, device] = machine;
    const OpKind kind = op.kind;
    switch (of) {
      case KernelClass::gemm: {
        GemmCall call = kind == OpKind::gemm           ? linear_product(shape)
                        : kind == OpKind::grouped_gemm ? grouped_product(shape)
                                                       : attention_product(kind, shape);
        call.bytes = bytes;
        return gemm_seconds(call, device, fit, Clock::sustained);
      }
      case KernelClass::attention_forward:
      case KernelClass::attention_backward: {
        AttentionCall call;
        call.batch = shape.batch;
        call.sequence = shape.sequence;
        call.keys = shape.keys;
        call.diagonal = op.peer == 0;
        call.heads = shape.heads;
        call.head_dim = shape.head_dim;
        call.causal = shape.causal;
        call.backward = of == KernelClass::attention_backward;
        call.bytes = bytes;
        return attention_seconds(call, device_, fit);
      }
      case KernelClass::memory_bound:
        break;
    }
    return memory_seconds({bytes, reduces(kind), kind == OpKind::top_k_select ? kTopKPasses : 1.0}, device_,
                          fit);
  }

  KernelTime host_time(const schedule::Program& program, const schedule::Op& op,
                       const KernelShape& shape) const {
    double seconds = 0.0;
    if (op.kind == OpKind::cpu_adam) {
      const schedule::KernelWork work = schedule::work_of(program, op, shape);
      seconds = cpu_adam_seconds(static_cast<double>((work.read + work.written).count()), host_);
    } else if (schedule::is_copy(op.kind)) {
      seconds =
          copy_seconds(static_cast<double>(schedule::message_bytes(program, op).count()), host_, pinned_);
    } else {
      CHECK(op.kind == OpKind::host_wait, name(op.kind));  // communication is the network's
      return {Duration(), Origin::exact, 0.0, 0.0};
    }
    return {Duration::from_seconds_up(seconds), Origin::modelled, -kHostLogSpread, kHostLogSpread};
  }

  std::array<hardware::KernelFit, hardware::kKernelClasses> fits_;
  KernelDevice device_, cores_, fp8_, fp4_;
  HostDevice host_;
  bool pinned_;
};

}  // namespace

std::optional<KernelClass> kernel_class(OpKind kind) {
  switch (kind) {
    case OpKind::gemm:
    case OpKind::grouped_gemm:
    case OpKind::attention_scores:
    case OpKind::attention_context:
    case OpKind::attention_dprobabilities:
    case OpKind::attention_dvalue:
    case OpKind::attention_dquery:
    case OpKind::attention_dkey:
      return KernelClass::gemm;
    case OpKind::attention_forward:
      return KernelClass::attention_forward;
    case OpKind::attention_backward:
      return KernelClass::attention_backward;
    case OpKind::fill:
    case OpKind::cast:
    case OpKind::absmax:
    case OpKind::add:
    case OpKind::split_columns:
    case OpKind::join_columns:
    case OpKind::attention_merge:
    case OpKind::bias_backward:
    case OpKind::embedding_forward:
    case OpKind::embedding_backward:
    case OpKind::position_forward:
    case OpKind::position_backward:
    case OpKind::norm_forward:
    case OpKind::norm_backward:
    case OpKind::latent_forward: case OpKind::latent_backward: case OpKind::resize_heads:
    case OpKind::rotary_forward: case OpKind::rotary_backward:
    case OpKind::head_norm_forward:
    case OpKind::head_norm_backward:
    case OpKind::softmax_forward: case OpKind::softmax_backward:
    case OpKind::activation_forward:
    case OpKind::activation_backward:
    case OpKind::dropout_forward: case OpKind::dropout_backward:
    case OpKind::bias_dropout_add_forward:
    case OpKind::bias_dropout_add_backward:
    case OpKind::cross_entropy_max:
    case OpKind::cross_entropy_sum:
    case OpKind::cross_entropy_loss:
    case OpKind::cross_entropy_backward:
    case OpKind::gradient_norm:
    case OpKind::adam:
    case OpKind::sgd:
    case OpKind::top_k_select:
    case OpKind::top_k_apply:
    case OpKind::quantise: case OpKind::dequantise:
    case OpKind::route_forward: case OpKind::route_backward:
    case OpKind::permute: case OpKind::combine: case OpKind::combine_backward:
    case OpKind::expert_sort: case OpKind::expert_unsort:
      return KernelClass::memory_bound;
    case OpKind::input:
    case OpKind::cpu_adam:
    case OpKind::all_reduce:
    case OpKind::reduce_scatter:
    case OpKind::all_gather:
    case OpKind::all_to_all:
    case OpKind::broadcast:
    case OpKind::send:
    case OpKind::recv:
    case OpKind::copy_to_host:
    case OpKind::copy_to_device:
    case OpKind::host_wait:
      break;
  }
  return std::nullopt;
}

std::unique_ptr<KernelCost> make_analytic_cost(const hardware::Cluster& cluster, Precision precision,
                                               bool pinned) {
  return std::make_unique<AnalyticCost>(cluster, precision, pinned);
}

}  // namespace orrery::sim
