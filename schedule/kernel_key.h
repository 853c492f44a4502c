// Which kernel an op runs, and how large it is: the key under which a measured time is stored and found. Both
// sides use it: calibration to see which kernels and sizes given schedules need, the simulator to look them
// up.
//
// The name says what changes the kernel's code, joined by dots: op kind (gemm with its layout), norm kind,
// activation, causal or full, alibi, whose keys (of another member of a ring, "step"; of n members, "keysn"), which optional operands are there (bias, residual, dropout's mask, a
// weight copy), whether the result is accumulated, and last the types of its floating-point operands in the
// order of Role, repetitions left out:
//
//     gemm_tn.bias.fp32   gemm_nt.accumulate.bf16-fp32   norm_backward.rms_norm.accumulate.fp32
//     attention_forward.causal.fp32   activation_forward.swiglu.bf16   adam.weights.bf16-fp32
//     copy_to_host.bytes
//
// The dims say how large it is; how many and which depends on the op's kind only (dimension_names). Not part
// of the key: strides of views, values such as scale or the dropout's probability, sharding (an op's shapes
// are those of its rank).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "schedule/ir.h"

namespace orrery::schedule {

inline constexpr std::size_t kMaxKernelDims = 5;

struct KernelKey {
  std::string name;
  std::array<std::int64_t, kMaxKernelDims>
      dims{};  // the first dim_count of them, at least 1 each; the rest 0
  std::size_t dim_count = 0;
  double flops = 0.0;  // as executed, of matrix products and attention (kernel_work.h)
  double bytes = 0.0;  // read and written; copies and input: the message's, once
};

// Whether ops of this kind run a kernel or a copy, so that they have a key: all but communication and
// host_wait.
bool has_kernel_key(OpKind kind);

// `op` must be an element of program.ops, of a verified schedule. About 0.2 us and an allocation or two.
KernelKey kernel_key(const Program& program, const Op& op, const KernelShape& shape);

// "m n k", "batch sequence heads kv_heads head_dim", "rows columns", ...
std::span<const std::string_view> dimension_names(OpKind kind);

// The kind that a kernel's name begins with ("gemm_tn.bias.fp32": gemm); none where no kernel is called so.
std::optional<OpKind> kind_of_kernel(std::string_view kernel);

}  // namespace orrery::schedule
