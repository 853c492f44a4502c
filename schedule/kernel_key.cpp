// Kinds fall into families that measure their size alike; the words of a name come from the optional operands
// and the fields of the shape that the kind uses.
#include "schedule/kernel_key.h"

#include <algorithm>

#include "base/check.h"
#include "schedule/kernel_work.h"

namespace orrery::schedule {
namespace {

enum class Family : std::uint8_t {
  none,
  flat,
  rows,
  row_count,
  product,
  grouped,
  attention,
  heads,
  table,
  selection,
  bytes
};

Family family_of(OpKind kind) {
  switch (kind) {
    case OpKind::fill:
    case OpKind::cast:
    case OpKind::absmax:
    case OpKind::add:
    case OpKind::split_columns: case OpKind::join_columns:
    case OpKind::dropout_forward: case OpKind::dropout_backward:
    case OpKind::gradient_norm:
    case OpKind::adam: case OpKind::sgd: case OpKind::cpu_adam:
    case OpKind::quantise: case OpKind::dequantise:
      return Family::flat;
    case OpKind::bias_backward:
    case OpKind::position_forward: case OpKind::position_backward:
    case OpKind::norm_forward: case OpKind::norm_backward:
    case OpKind::softmax_forward: case OpKind::softmax_backward:
    case OpKind::route_forward: case OpKind::route_backward:
    case OpKind::permute: case OpKind::combine: case OpKind::combine_backward:
    case OpKind::expert_sort: case OpKind::expert_unsort:
    case OpKind::activation_forward: case OpKind::activation_backward:
    case OpKind::bias_dropout_add_forward:
    case OpKind::bias_dropout_add_backward:
    case OpKind::cross_entropy_max:
    case OpKind::cross_entropy_sum:
    case OpKind::cross_entropy_backward:
      return Family::rows;
    case OpKind::cross_entropy_loss:
      return Family::row_count;
    case OpKind::gemm:
      return Family::product;
    case OpKind::grouped_gemm:
      return Family::grouped;
    case OpKind::latent_forward: case OpKind::latent_backward: case OpKind::resize_heads:
    case OpKind::rotary_forward:
    case OpKind::rotary_backward:
    case OpKind::attention_forward: case OpKind::attention_backward: case OpKind::attention_merge:
    case OpKind::attention_scores:
    case OpKind::attention_context:
    case OpKind::attention_dprobabilities:
    case OpKind::attention_dvalue:
    case OpKind::attention_dquery:
    case OpKind::attention_dkey:
      return Family::attention;
    case OpKind::head_norm_forward:
    case OpKind::head_norm_backward:
      return Family::heads;
    case OpKind::embedding_forward:
    case OpKind::embedding_backward:
      return Family::table;
    case OpKind::top_k_select:
    case OpKind::top_k_apply:
      return Family::selection;
    case OpKind::input:
    case OpKind::copy_to_host:
    case OpKind::copy_to_device:
      return Family::bytes;
    case OpKind::all_reduce:
    case OpKind::reduce_scatter:
    case OpKind::all_gather:
    case OpKind::all_to_all:
    case OpKind::broadcast:
    case OpKind::send:
    case OpKind::recv:
    case OpKind::host_wait:
      break;
  }
  return Family::none;
}

class KeyMaker {
 public:
  KeyMaker(const Program& program, const Op& op, const KernelShape& shape)
      : program_(program), op_(op), shape_(shape), family_(family_of(op.kind)) {
    CHECK(family_ != Family::none, name(op.kind));
  }

  KernelKey key() {
    key_.name = name(op_.kind);
    add_kind_words();
    add_operand_words();
    add_types();
    add_dims();
    add_work();
    return std::move(key_);
  }

 private:
  bool has(Role role) const { return program_.find(op_, role) != nullptr; }

  void word(std::string_view text) {
    key_.name += '.';
    key_.name += text;
  }

  void word_if(bool is, std::string_view text) {
    if (is) word(text);
  }

  void add_kind_words() {
    const OpKind kind = op_.kind;
    if (kind == OpKind::gemm || kind == OpKind::grouped_gemm) {
      key_.name += '_';
      key_.name += name(shape_.layout);
    }
    if (kind == OpKind::norm_forward || kind == OpKind::norm_backward) word(name(shape_.norm));
    if (kind == OpKind::activation_forward || kind == OpKind::activation_backward)
      word(name(shape_.activation));
    if (kind == OpKind::quantise || kind == OpKind::dequantise) word(shape_.n == 4 ? "int4" : "int8");
    if (kind == OpKind::route_forward || kind == OpKind::route_backward) word(shape_.sigmoid ? "sigmoid" : "softmax");
    const bool fused = kind == OpKind::attention_forward || kind == OpKind::attention_backward;
    if (fused || kind == OpKind::softmax_forward || kind == OpKind::softmax_backward) {
      word(shape_.causal ? "causal" : "full");
      word_if(shape_.alibi, "alibi");
      word_if(fused && shape_.dropout > 0.0, "dropout");
      word_if(fused && op_.peer != 0, "step");  // keys of another member of the ring: no diagonal
      if (fused && shape_.keys > shape_.sequence) word("keys" + std::to_string(shape_.keys / shape_.sequence));
    }
  }

  void add_operand_words() {
    const OpKind kind = op_.kind;
    word_if(has(Role::bias) || (has(Role::dbias) && kind != OpKind::bias_backward), "bias");
    word_if(has(Role::residual), "residual");
    const bool may_drop =
        kind == OpKind::bias_dropout_add_forward || kind == OpKind::bias_dropout_add_backward;
    word_if(may_drop && has(Role::mask), "dropout");
    const bool optimizer = kind == OpKind::adam || kind == OpKind::sgd || kind == OpKind::cpu_adam;
    word_if(kind == OpKind::sgd && has(Role::moment1), "momentum");
    word_if(optimizer && has(Role::w), "weights");
    word_if(accumulates(), "accumulate");
  }

  // Where a kind may overwrite its result or add to it. The small gradients beside it (dw of a norm) do not
  // count.
  bool accumulates() const {
    if (op_.kind == OpKind::top_k_select) return updates(Role::x);  // keeps the rest: error feedback
    static constexpr std::array kResults = {Role::y,  Role::dx, Role::dw, Role::dbias,
                                            Role::dq, Role::dk, Role::dv};
    const bool fixed = op_.kind == OpKind::add || op_.kind == OpKind::position_forward ||
                       op_.kind == OpKind::top_k_apply || op_.kind == OpKind::gradient_norm ||
                       op_.kind == OpKind::rotary_backward || op_.kind == OpKind::cross_entropy_backward ||
                       op_.kind == OpKind::attention_merge || op_.kind == OpKind::adam || op_.kind == OpKind::sgd || op_.kind == OpKind::cpu_adam;
    if (fixed) return false;
    const auto* result =
        std::find_if(kResults.begin(), kResults.end(), [&](Role role) { return writes(role); });
    return result != kResults.end() && updates(*result);
  }
  bool writes(Role role) const {
    const View* view = program_.find(op_, role);
    return view != nullptr && view->access != Access::read;
  }
  bool updates(Role role) const {
    const View* view = program_.find(op_, role);
    return view != nullptr && view->access == Access::update;
  }

  void add_types() {
    if (family_ == Family::bytes) return word("bytes");
    const Block& block = program_.block_of(op_);
    std::string types;
    DataType last = DataType::byte;
    for (std::size_t r = 0; r < static_cast<std::size_t>(Role::release); ++r) {
      const View* view = program_.find(op_, static_cast<Role>(r));
      if (view == nullptr) continue;
      const DataType type = program_.buffer(block, *view).type;
      if (type == DataType::int32 || type == DataType::byte || type == last) continue;
      if (!types.empty()) types += '-';
      types += name(type);
      last = type;
    }
    if (!types.empty()) word(types);
  }

  void dim(std::int64_t value) { key_.dims[key_.dim_count++] = std::max<std::int64_t>(value, 1); }

  const View& view(std::initializer_list<Role> roles) const {
    for (const Role role : roles)
      if (const View* found = program_.find(op_, role)) return *found;
    CHECK(false, name(op_.kind));
    return program_.views.front();
  }

  void add_dims() {
    switch (family_) {
      case Family::flat:
        return dim(flat_view().count());
      case Family::rows:
        return add_rows();
      case Family::row_count:
        return dim(view({Role::stats}).rows);
      case Family::product:
        return dim(shape_.m), dim(shape_.n), dim(shape_.k);
      case Family::grouped:
        return dim(shape_.m), dim(shape_.n), dim(shape_.k), dim(shape_.experts);
      case Family::attention:
        return dim(shape_.batch), dim(shape_.sequence), dim(shape_.heads), dim(shape_.kv_heads),
               dim(shape_.head_dim);
      case Family::heads: {
        const View& x = view({Role::x});
        const std::int64_t d = std::max(shape_.head_dim, 1);
        return dim(x.rows), dim(x.columns / d), dim(d);
      }
      case Family::table: {
        const View& rows = view({op_.kind == OpKind::embedding_forward ? Role::y : Role::dy});
        return dim(rows.rows), dim(rows.columns), dim(view({Role::w, Role::dw}).rows);
      }
      case Family::selection:
        if (op_.kind == OpKind::top_k_select) return dim(view({Role::x}).count()), dim(shape_.k);
        return dim(view({Role::y}).count()), dim(view({Role::x}).count() / 2);
      case Family::bytes:
        return dim(message_bytes(program_, op_).count());
      case Family::none:
        break;
    }
  }

  const View& flat_view() const {
    if (op_.kind == OpKind::fill) return view({Role::y});
    if (op_.kind == OpKind::adam || op_.kind == OpKind::sgd || op_.kind == OpKind::cpu_adam)
      return view({Role::master});
    if (op_.kind == OpKind::dequantise) return view({Role::y});
    return view({Role::x, Role::dy});
  }

  void add_rows() {
    if (op_.kind == OpKind::softmax_forward || op_.kind == OpKind::softmax_backward) {
      dim(std::int64_t{shape_.batch} * shape_.heads * shape_.sequence);
      return dim(shape_.sequence);
    }
    // A gated activation's x has twice the columns of what it gives.
    const bool gives = op_.kind == OpKind::permute || op_.kind == OpKind::combine || op_.kind == OpKind::activation_forward || op_.kind == OpKind::position_forward;
    const View& rows = gives ? view({Role::y}) : view({Role::dy, Role::x});
    dim(rows.rows);
    dim(rows.columns);
  }

  void add_work() {
    if (family_ == Family::bytes) {
      key_.bytes = static_cast<double>(key_.dims[0]);
      return;
    }
    const KernelWork work = work_of(program_, op_, shape_);
    key_.flops = work.flops.value();
    key_.bytes = static_cast<double>((work.read + work.written).count());
  }

  const Program& program_;
  const Op& op_;
  const KernelShape& shape_;
  const Family family_;
  KernelKey key_;
};

constexpr std::array<std::string_view, 1> kFlatNames = {"elements"};
constexpr std::array<std::string_view, 2> kRowNames = {"rows", "columns"};
constexpr std::array<std::string_view, 3> kProductNames = {"m", "n", "k"};
constexpr std::array<std::string_view, 4> kGroupedNames = {"m", "n", "k", "experts"};
constexpr std::array<std::string_view, 5> kAttentionNames = {"batch", "sequence", "heads", "kv_heads",
                                                             "head_dim"};
constexpr std::array<std::string_view, 3> kHeadNames = {"rows", "heads", "head_dim"};
constexpr std::array<std::string_view, 3> kTableNames = {"rows", "columns", "table"};
constexpr std::array<std::string_view, 2> kSelectNames = {"elements", "k"};
constexpr std::array<std::string_view, 2> kApplyNames = {"elements", "pairs"};
constexpr std::array<std::string_view, 1> kByteNames = {"bytes"};

}  // namespace

bool has_kernel_key(OpKind kind) { return family_of(kind) != Family::none; }

KernelKey kernel_key(const Program& program, const Op& op, const KernelShape& shape) {
  return KeyMaker(program, op, shape).key();
}

std::span<const std::string_view> dimension_names(OpKind kind) {
  switch (family_of(kind)) {
    case Family::flat:
      return kFlatNames;
    case Family::rows:
      return kRowNames;
    case Family::row_count:
      return std::span(kRowNames).first(1);
    case Family::product:
      return kProductNames;
    case Family::grouped:
      return kGroupedNames;
    case Family::attention:
      return kAttentionNames;
    case Family::heads:
      return kHeadNames;
    case Family::table:
      return kTableNames;
    case Family::selection:
      return kind == OpKind::top_k_select ? std::span<const std::string_view>(kSelectNames) : kApplyNames;
    case Family::bytes:
      return kByteNames;
    case Family::none:
      break;
  }
  return {};
}

std::optional<OpKind> kind_of_kernel(std::string_view kernel) {
  kernel = kernel.substr(0, kernel.find('.'));
  if (kernel == "gemm_tn" || kernel == "gemm_nn" || kernel == "gemm_nt") return OpKind::gemm;
  if (kernel == "grouped_gemm_tn" || kernel == "grouped_gemm_nn" || kernel == "grouped_gemm_nt") return OpKind::grouped_gemm;
  for (std::size_t k = 0; k < kOpKinds; ++k) {
    const auto kind = static_cast<OpKind>(k);
    if (kind != OpKind::gemm && kind != OpKind::grouped_gemm && has_kernel_key(kind) && name(kind) == kernel) return kind;
  }
  return std::nullopt;
}

}  // namespace orrery::schedule
