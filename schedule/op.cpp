// Names, sizes and classification of operations. Each name table has one entry per enumerator, in order; the
// text form prints and reads these words, so they are part of the file format (docs/schedule.md).
#include "schedule/op.h"

#include <array>

#include "base/check.h"

namespace orrery::schedule {
namespace {

template <typename Enum, std::size_t N>
std::string_view word(const std::array<std::string_view, N>& table, Enum value) {
  const auto at = static_cast<std::size_t>(value);
  CHECK(at < N, at);
  return table[at];
}

constexpr std::array<std::string_view, kOpKinds> kKindNames = {
    "fill",
    "cast",
    "absmax",
    "add",
    "split_columns",
    "join_columns",
    "input",
    "gemm",
    "bias_backward",
    "embedding_forward",
    "embedding_backward",
    "position_forward",
    "position_backward",
    "norm_forward",
    "norm_backward",
    "latent_forward",
    "latent_backward",
    "resize_heads",
    "rotary_forward",
    "rotary_backward",
    "head_norm_forward",
    "head_norm_backward",
    "attention_forward",
    "attention_backward",
    "attention_merge",
    "attention_scores",
    "softmax_forward",
    "softmax_backward",
    "attention_context",
    "attention_dprobabilities",
    "attention_dvalue",
    "attention_dquery",
    "attention_dkey",
    "activation_forward",
    "activation_backward",
    "dropout_forward",
    "dropout_backward",
    "bias_dropout_add_forward",
    "bias_dropout_add_backward",
    "route_forward",
    "route_backward",
    "permute",
    "combine",
    "combine_backward",
    "expert_sort",
    "expert_unsort",
    "grouped_gemm",
    "cross_entropy_max",
    "cross_entropy_sum",
    "cross_entropy_loss",
    "cross_entropy_backward",
    "gradient_norm",
    "adam",
    "sgd",
    "cpu_adam",
    "top_k_select",
    "top_k_apply",
    "quantise",
    "dequantise",
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "all_to_all",
    "broadcast",
    "send",
    "recv",
    "copy_to_host",
    "copy_to_device",
    "host_wait",
};
static_assert(!kKindNames.back().empty(), "one name per kind");

constexpr std::array<std::string_view, kRoles> kRoleNames = {
    "x",      "y",      "w",     "bias", "dy",     "dx",      "dw",      "dbias",   "residual", "mask",
    "tokens", "labels", "stats", "loss", "q",      "k",       "v",       "o",       "lse",      "dout",
    "dq",     "dk",     "dv",    "routes", "counts", "shared", "norm",  "master",  "moment1", "moment2",  "release",
};
static_assert(!kRoleNames.back().empty(), "one name per role");

constexpr std::array<std::string_view, kStreams> kStreamNames = {
    "compute",
    "tensor",
    "data",
    "pipe_send_forward",
    "pipe_recv_forward",
    "pipe_send_backward",
    "pipe_recv_backward",
    "pipe_send_forward_2",
    "pipe_recv_forward_2",
    "pipe_send_backward_2",
    "pipe_recv_backward_2",
    "context",
    "to_host",
    "to_device",
    "cpu",
    "host",
};
static_assert(!kStreamNames.back().empty(), "one name per stream");

constexpr std::array<std::string_view, kPhases> kPhaseNames = {"setup",    "forward",         "recompute",
                                                               "backward", "weight_gradient", "optimizer"};

}  // namespace

std::uint8_t message_direction(Stream stream) {
  if (stream < Stream::pipe_send_forward || stream > Stream::pipe_recv_backward_2) return 0;
  return static_cast<std::uint8_t>(
      1 + (static_cast<int>(stream) - static_cast<int>(Stream::pipe_send_forward)) / 2);  // they come in pairs
}

std::int64_t size_of(DataType type) {
  switch (type) {
    case DataType::fp32:
    case DataType::int32:
      return 4;
    case DataType::fp16:
    case DataType::bf16:
      return 2;
    case DataType::byte:
    case DataType::fp8:
    case DataType::fp4:
      return 1;
  }
  check_failed("a data type", __FILE__, __LINE__, {});
}

std::int64_t bytes_of(DataType type, std::int64_t elements) {
  return type == DataType::fp4 ? (elements + 1) / 2 : elements * size_of(type);
}

std::string_view name(OpKind kind) { return word(kKindNames, kind); }
std::string_view name(Role role) { return word(kRoleNames, role); }
std::string_view name(Stream stream) { return word(kStreamNames, stream); }
std::string_view name(Phase phase) { return word(kPhaseNames, phase); }

std::string_view name(DataType type) {
  static constexpr std::array<std::string_view, kDataTypes> table = {"fp32", "fp16", "bf16", "int32",
                                                                   "byte", "fp8",  "fp4"};
  return word(table, type);
}
std::string_view name(Layout layout) {
  static constexpr std::array<std::string_view, kLayouts> table = {"tn", "nn", "nt"};
  return word(table, layout);
}
std::string_view name(Reduce reduce) {
  static constexpr std::array<std::string_view, kReduces> table = {"sum", "max"};
  return word(table, reduce);
}
std::string_view name(Norm norm) {
  static constexpr std::array<std::string_view, kNorms> table = {"layer_norm", "rms_norm"};
  return word(table, norm);
}
std::string_view name(Activation activation) {
  static constexpr std::array<std::string_view, kActivations> table = {"gelu", "relu", "squared_relu",
                                                                       "swiglu", "geglu"};
  return word(table, activation);
}

bool is_collective(OpKind kind) { return kind >= OpKind::all_reduce && kind <= OpKind::broadcast; }
bool is_point_to_point(OpKind kind) { return kind == OpKind::send || kind == OpKind::recv; }
bool is_copy(OpKind kind) {
  return kind == OpKind::copy_to_host || kind == OpKind::copy_to_device || kind == OpKind::input;
}
bool is_compute(OpKind kind) {
  return !is_communication(kind) && !is_copy(kind) && kind != OpKind::host_wait && kind != OpKind::cpu_adam;
}

}  // namespace orrery::schedule
