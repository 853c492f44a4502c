// The operand table, and the sizes that must agree. Cost: a few comparisons an op.
#include "schedule/verify/op_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "schedule/kernel_work.h"
#include "schedule/text/fields.h"

namespace orrery::schedule {

namespace {

struct Operands {
  OpKind kind;
  std::string_view roles;  // in brackets: may be absent
};

// In the order of OpKind. A GEMM's depend on its layout.
constexpr Operands kOperands[] = {
    {OpKind::fill, "y"},
    {OpKind::cast, "x y"},
    {OpKind::absmax, "x y"},
    {OpKind::add, "x y"},
    {OpKind::split_columns, "x y"},
    {OpKind::join_columns, "x y"},
    {OpKind::input, "[tokens labels]"},
    {OpKind::gemm, ""},
    {OpKind::bias_backward, "dy dbias"},
    {OpKind::embedding_forward, "tokens w y"},
    {OpKind::embedding_backward, "tokens dy dw"},
    {OpKind::position_forward, "w y"},
    {OpKind::position_backward, "dy dw"},
    {OpKind::norm_forward, "x w y [bias]"},
    {OpKind::norm_backward, "dy x w dx dw [dbias]"},
    {OpKind::latent_forward, "q x shared k v"},
    {OpKind::latent_backward, "dq dk dv dx shared"},
    {OpKind::resize_heads, "x y"},
    {OpKind::rotary_forward, "q k"},
    {OpKind::rotary_backward, "dq dk"},
    {OpKind::head_norm_forward, "x w y"},
    {OpKind::head_norm_backward, "dy x w dx dw"},
    {OpKind::attention_forward, "q k v o lse"},
    {OpKind::attention_backward, "dout q k v o lse dq dk dv"},
    {OpKind::attention_merge, "x stats o lse"},
    {OpKind::attention_scores, "q k y"},
    {OpKind::softmax_forward, "x y"},
    {OpKind::softmax_backward, "dy y dx"},
    {OpKind::attention_context, "x v o"},
    {OpKind::attention_dprobabilities, "dout v dx"},
    {OpKind::attention_dvalue, "x dout dv"},
    {OpKind::attention_dquery, "x k dq"},
    {OpKind::attention_dkey, "x q dk"},
    {OpKind::activation_forward, "x y [bias counts]"},
    {OpKind::activation_backward, "dy x dx [bias dbias counts]"},
    {OpKind::dropout_forward, "x y mask"},
    {OpKind::dropout_backward, "dy mask dx"},
    {OpKind::bias_dropout_add_forward, "x y [bias residual mask]"},
    {OpKind::bias_dropout_add_backward, "dy dx [mask dbias]"},
    {OpKind::route_forward, "x w routes counts [bias]"},
    {OpKind::route_backward, "dw x routes dx"},
    {OpKind::permute, "x routes counts y"},
    {OpKind::combine, "x routes counts y [w]"},
    {OpKind::combine_backward, "dy x routes counts w dx dw"},
    {OpKind::expert_sort, "x counts y"},
    {OpKind::expert_unsort, "x counts y"},
    {OpKind::grouped_gemm, ""},
    {OpKind::cross_entropy_max, "x stats"},
    {OpKind::cross_entropy_sum, "x labels stats"},
    {OpKind::cross_entropy_loss, "stats loss"},
    {OpKind::cross_entropy_backward, "x stats labels dx"},
    {OpKind::gradient_norm, "x y"},
    {OpKind::adam, "dw master moment1 moment2 [w norm]"},
    {OpKind::sgd, "dw master [moment1 w norm]"},
    {OpKind::cpu_adam, "dw master moment1 moment2 [w norm]"},
    {OpKind::top_k_select, "x y"},
    {OpKind::top_k_apply, "x y"},
    {OpKind::quantise, "x y"},
    {OpKind::dequantise, "x y"},
    {OpKind::all_reduce, "y"},
    {OpKind::reduce_scatter, "x y [counts]"},
    {OpKind::all_gather, "x y [counts]"},
    {OpKind::all_to_all, "x y [counts]"},
    {OpKind::broadcast, "y"},
    {OpKind::send, "x"},
    {OpKind::recv, "y"},
    {OpKind::copy_to_host, "x y"},
    {OpKind::copy_to_device, "x y"},
    {OpKind::host_wait, ""},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < std::size(kOperands); ++i)
    if (static_cast<std::size_t>(kOperands[i].kind) != i) return false;
  return std::size(kOperands) == kOpKinds;
}
static_assert(in_order(), "one row a kind, in the order of OpKind");

}  // namespace

std::string_view operands_of(OpKind kind, Layout layout) {
  if (kind == OpKind::grouped_gemm)
    return layout == Layout::tn ? "x w counts y" : layout == Layout::nn ? "dy w counts dx" : "dy x counts dw";
  if (kind != OpKind::gemm) return kOperands[static_cast<std::size_t>(kind)].roles;
  return layout == Layout::tn ? "x w y [bias]" : layout == Layout::nn ? "dy w dx" : "dy x dw";
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
    if (p.find(op, Role::counts) != nullptr) return;  // who brings how much is known when it runs
    if (op.kind == OpKind::all_to_all && x != y) add("has x of {} and y of {} elements", x, y);
  }

  // Who touches rows of which only a run knows how many there are must be told.
  void extents() {
    const auto is_extent = [&](const View& v) {
      return v.role != Role::release && p.buffer(b, v).extent != Extent::fixed;
    };
    bool any = false;
    for (const View& v : p.views_of(op)) any = any || is_extent(v);
    if (any && p.find(op, Role::counts) == nullptr) add("touches an extent without counts");
    if (any && s.expert_rows.reserved < 1) add("touches an extent, and the schedule reserves no expert_rows");
    const bool moves = op.kind == OpKind::all_to_all || op.kind == OpKind::all_gather || op.kind == OpKind::reduce_scatter;
    if (!moves || p.find(op, Role::counts) == nullptr) return;
    const View *x = p.find(op, Role::x), *y = p.find(op, Role::y);
    if (x == nullptr || y == nullptr || x->columns != y->columns) add("has rows of different lengths");
  }

  void experts() {
    const KernelShape& k = s.shapes[op.shape];
    const bool routes = op.kind == OpKind::route_forward || op.kind == OpKind::route_backward;
    if (op.kind >= OpKind::route_forward && op.kind <= OpKind::grouped_gemm && k.experts < 1)
      add("has a shape of {} experts", k.experts);
    if (!routes || k.experts < 1) return;
    const bool grouped = k.groups >= 1 && k.experts % k.groups == 0 && k.top_groups >= 1 && k.top_groups <= k.groups;
    if (k.k < 1 || k.k > k.experts || !grouped || k.top_groups * (k.experts / k.groups) < k.k || k.m < 0)
      add("cannot choose {} of {} experts in {} of {} groups", k.k, k.experts, k.top_groups, k.groups);
    const View *x = p.find(op, Role::x), *routes_view = p.find(op, Role::routes);
    if (x != nullptr && routes_view != nullptr &&
        (x->columns != k.experts || routes_view->columns != k.k || x->rows != routes_view->rows))
      add("has logits of {}x{} and routes of {}x{}", x->rows, x->columns, routes_view->rows, routes_view->columns);
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

  // Each row of elements is a row of payload_bytes on the other side.
  void quantisation() {
    const KernelShape& k = s.shapes[op.shape];
    if ((k.n != 8 && k.n != 4) || k.k < 2 || k.k % 2 != 0)
      return add("has codes of {} bits in blocks of {}, not 8 or 4 in even blocks", k.n, k.k);
    const bool packs = op.kind == OpKind::quantise;
    std::int64_t bytes = 0, elements = 0;
    for (const View& v : p.views_of(op)) {
      const bool wide = v.role == (packs ? Role::x : Role::y);
      if (wide) elements += v.rows * payload_bytes(v.columns, k);
      if (v.role == (packs ? Role::y : Role::x)) bytes += v.count();
    }
    if (packs ? bytes != elements : elements == 0 || bytes % elements != 0)
      add("has {} bytes where its elements take {}", bytes, elements);
  }

  void sizes() {
    const KernelShape& k = s.shapes[op.shape];
    if (op.kind == OpKind::gemm) return gemm();
    const bool attention = op.kind >= OpKind::rotary_forward && op.kind <= OpKind::attention_dkey;
    if (attention && (k.batch < 1 || k.sequence < 1 || k.heads < 1 || k.kv_heads < 1 || k.head_dim < 1 ||
                      k.heads % k.kv_heads != 0))
      add("has a shape without batch, sequence, heads, kv_heads (a divisor of heads) and head_dim");
    if (op.kind == OpKind::cast && (total(Role::x) == 0 || total(Role::y) % total(Role::x) != 0))
      equal(Role::x, Role::y);
    if (op.kind == OpKind::add || op.kind == OpKind::copy_to_host || op.kind == OpKind::copy_to_device ||
        op.kind == OpKind::split_columns || op.kind == OpKind::join_columns)
      equal(Role::x, Role::y);
    const bool cut = op.kind == OpKind::split_columns || op.kind == OpKind::join_columns;
    if (cut && (k.n < 1 || total(op.kind == OpKind::split_columns ? Role::y : Role::x) % k.n != 0))
      add("has a shape of {} column blocks", k.n);
    if (op.kind == OpKind::attention_merge) equal(Role::x, Role::o), equal(Role::stats, Role::lse);
    if (k.keys < 0 || (k.keys > 0 && k.keys % std::max(k.sequence, 1) != 0))
      add("has {} keys for {} queries: neither as many nor a multiple", k.keys, k.sequence);
    if (op.kind == OpKind::norm_forward || op.kind == OpKind::dropout_forward) equal(Role::x, Role::y);
    if (op.kind == OpKind::norm_backward || op.kind == OpKind::dropout_backward) equal(Role::dy, Role::dx);
    if (op.kind == OpKind::bias_dropout_add_forward) equal(Role::x, Role::y);
    if (op.kind == OpKind::quantise || op.kind == OpKind::dequantise) quantisation();
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
  checker.extents();
  checker.experts();
  return std::move(checker.broken);
}

}  // namespace orrery::schedule
