// The operand table, and the sizes that must agree. Cost: a few comparisons an op.
#include "schedule/verify/op_rules.h"

#include <fmt/format.h>

#include "schedule/text/fields.h"

namespace orrery::schedule {

std::string_view operands_of(OpKind kind, Layout layout) {
  switch (kind) {
    case OpKind::fill:
      return "y";
    case OpKind::cast:
      return "x y";
    case OpKind::add:
      return "x y";
    case OpKind::input:
      return "[tokens labels]";
    case OpKind::gemm:
      return layout == Layout::tn ? "x w y [bias]" : layout == Layout::nn ? "dy w dx" : "dy x dw";
    case OpKind::bias_backward:
      return "dy dbias";
    case OpKind::embedding_forward:
      return "tokens w y";
    case OpKind::embedding_backward:
      return "tokens dy dw";
    case OpKind::position_forward:
      return "w y";
    case OpKind::position_backward:
      return "dy dw";
    case OpKind::norm_forward:
      return "x w y [bias]";
    case OpKind::norm_backward:
      return "dy x w dx dw [dbias]";
    case OpKind::rotary_forward:
      return "q k";
    case OpKind::rotary_backward:
      return "dq dk";
    case OpKind::head_norm_forward:
      return "x w y";
    case OpKind::head_norm_backward:
      return "dy x w dx dw";
    case OpKind::attention_forward:
      return "q k v o lse";
    case OpKind::attention_backward:
      return "dout q k v o lse dq dk dv";
    case OpKind::attention_scores:
      return "q k y";
    case OpKind::softmax_forward:
      return "x y";
    case OpKind::softmax_backward:
      return "dy y dx";
    case OpKind::attention_context:
      return "x v o";
    case OpKind::attention_dprobabilities:
      return "dout v dx";
    case OpKind::attention_dvalue:
      return "x dout dv";
    case OpKind::attention_dquery:
      return "x k dq";
    case OpKind::attention_dkey:
      return "x q dk";
    case OpKind::activation_forward:
      return "x y [bias]";
    case OpKind::activation_backward:
      return "dy x dx [bias dbias]";
    case OpKind::dropout_forward:
      return "x y mask";
    case OpKind::dropout_backward:
      return "dy mask dx";
    case OpKind::bias_dropout_add_forward:
      return "x y [bias residual mask]";
    case OpKind::bias_dropout_add_backward:
      return "dy dx [mask dbias]";
    case OpKind::cross_entropy_max:
      return "x stats";
    case OpKind::cross_entropy_sum:
      return "x labels stats";
    case OpKind::cross_entropy_loss:
      return "stats loss";
    case OpKind::cross_entropy_backward:
      return "x stats labels dx";
    case OpKind::gradient_norm:
      return "x y";
    case OpKind::adam:
      return "dw master moment1 moment2 [w norm]";
    case OpKind::sgd:
      return "dw master [moment1 w norm]";
    case OpKind::cpu_adam:
      return "dw master moment1 moment2 [w norm]";
    case OpKind::top_k_select:
      return "x y";
    case OpKind::top_k_apply:
      return "x y";
    case OpKind::all_reduce:
      return "y";
    case OpKind::reduce_scatter:
      return "x y";
    case OpKind::all_gather:
      return "x y";
    case OpKind::all_to_all:
      return "x y";
    case OpKind::broadcast:
      return "y";
    case OpKind::send:
      return "x";
    case OpKind::recv:
      return "y";
    case OpKind::copy_to_host:
      return "x y";
    case OpKind::copy_to_device:
      return "x y";
    case OpKind::host_wait:
      return "";
  }
  return "";
}

namespace {

struct Checker {
  const Schedule& s;
  const Program& p;
  const Block& b;
  const Op& op;
  std::vector<std::string> broken;

  template <typename... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    broken.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  std::int64_t total(Role role) const {
    std::int64_t count = 0;
    for (const View& v : p.views_of(op))
      if (v.role == role) count += v.count();
    return count;
  }

  void operands() {
    std::string_view table = operands_of(op.kind, s.shapes[op.shape].layout);
    std::array<bool, kRoles> allowed{};
    allowed[static_cast<std::size_t>(Role::release)] = true;
    bool optional = false;
    while (!table.empty()) {
      const std::size_t end = std::min(table.find(' '), table.size());
      std::string_view word = table.substr(0, end);
      table.remove_prefix(std::min(end + 1, table.size()));
      if (word.front() == '[') optional = true, word.remove_prefix(1);
      if (word.back() == ']') word.remove_suffix(1);
      const auto role = from_word<Role>(word);
      allowed[static_cast<std::size_t>(*role)] = true;
      if (!optional && p.find(op, *role) == nullptr) add("needs an operand {}", word);
    }
    for (const View& v : p.views_of(op)) {
      if (!allowed[static_cast<std::size_t>(v.role)]) add("has no use for an operand {}", name(v.role));
      if (v.role == Role::release && (v.count() != 0 || !v.frees))
        add("has a release that is not empty or frees nothing");
    }
  }

  void streams() {
    if ((op.kind == OpKind::host_wait) != (op.stream == Stream::host))
      add("and the stream host belong together");
    if ((op.kind == OpKind::cpu_adam) != (op.stream == Stream::cpu))
      add("and the stream cpu belong together");
    if (op.grouped && !is_communication(op.kind)) add("is grouped, and only communication can be");
  }

  void communication() {
    if (!is_communication(op.kind)) return;
    if (op.group == kNoGroup) return add("needs a group");
    const std::int64_t size = s.groups[op.group].size;
    if (is_point_to_point(op.kind)) {
      if (op.peer % size == 0) add("has itself as its peer ({} in a group of {})", op.peer, size);
      if (p.find(op, Role::y) != nullptr && p.find(op, Role::y)->access != Access::write)
        add("must write its operand y");
    }
    const std::int64_t x = total(Role::x), y = total(Role::y);
    if (op.kind == OpKind::reduce_scatter && x != y * size)
      add("has x of {} and y of {} elements for {} ranks", x, y, size);
    if (op.kind == OpKind::all_gather && y != x * size)
      add("has x of {} and y of {} elements for {} ranks", x, y, size);
    if (op.kind == OpKind::all_to_all && x != y) add("has x of {} and y of {} elements", x, y);
  }

  void equal(Role one, Role other) {
    if (total(one) != total(other))
      add("has {} of {} and {} of {} elements", name(one), total(one), name(other), total(other));
  }

  void gemm() {
    const KernelShape& k = s.shapes[op.shape];
    const auto is = [&](Role role, std::int64_t rows, std::int64_t columns) {
      const View* v = p.find(op, role);
      if (v != nullptr && (v->rows != rows || v->columns != columns) && v->count() != rows * columns)
        add("has {} of {}x{} where its shape says {}x{}", name(role), v->rows, v->columns, rows, columns);
    };
    constexpr std::int64_t kLargest = 1'000'000'000;
    if (k.m < 1 || k.n < 1 || k.k < 1 || k.m > kLargest || k.n > kLargest || k.k > kLargest)
      return add("has a shape of {} x {} x {}", k.m, k.n, k.k);
    if (k.layout == Layout::tn) is(Role::x, k.m, k.k), is(Role::w, k.n, k.k), is(Role::y, k.m, k.n);
    if (k.layout == Layout::nn) is(Role::dy, k.m, k.k), is(Role::w, k.k, k.n), is(Role::dx, k.m, k.n);
    if (k.layout == Layout::nt) is(Role::dy, k.k, k.m), is(Role::x, k.k, k.n), is(Role::dw, k.m, k.n);
  }

  void sizes() {
    const KernelShape& k = s.shapes[op.shape];
    if (op.kind == OpKind::gemm) return gemm();
    const bool attention = op.kind >= OpKind::rotary_forward && op.kind <= OpKind::attention_dkey;
    if (attention && (k.batch < 1 || k.sequence < 1 || k.heads < 1 || k.kv_heads < 1 || k.head_dim < 1 ||
                      k.heads % k.kv_heads != 0))
      add("has a shape without batch, sequence, heads, kv_heads (a divisor of heads) and head_dim");
    if (op.kind == OpKind::cast || op.kind == OpKind::add || op.kind == OpKind::copy_to_host ||
        op.kind == OpKind::copy_to_device)
      equal(Role::x, Role::y);
    if (op.kind == OpKind::norm_forward || op.kind == OpKind::dropout_forward) equal(Role::x, Role::y);
    if (op.kind == OpKind::norm_backward || op.kind == OpKind::dropout_backward) equal(Role::dy, Role::dx);
    if (op.kind == OpKind::bias_dropout_add_forward) equal(Role::x, Role::y);
    if (k.dropout < 0.0 || k.dropout >= 1.0) add("has a dropout of {}", k.dropout);
  }
};

}  // namespace

std::vector<std::string> broken_rules(const Schedule& schedule, const Program& program, const Block& block,
                                      const Op& op) {
  Checker checker{schedule, program, block, op, {}};
  checker.operands();
  checker.streams();
  checker.communication();
  checker.sizes();
  return std::move(checker.broken);
}

}  // namespace orrery::schedule
