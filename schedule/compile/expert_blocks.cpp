#include "schedule/compile/expert_blocks.h"

#include "base/check.h"
#include "schedule/compile/blocks.h"
#include "schedule/compile/tensor_parallel.h"
#include "schedule/expert_rows.h"

namespace orrery::schedule {
namespace {

constexpr UnitKind kLayer = UnitKind::expert_layer;

std::int64_t choices(const Stage& s) { return s.z.local_tokens * s.model().experts.top_k; }
bool exchanges(const Stage& s) { return s.scenario.parallel.ep * s.scenario.parallel.etp > 1; }
std::uint8_t expert_group(const Stage& s) { return find_group(s.schedule, "expert"); }

Stream exchange_stream(const Stage& s, const BlockBuilder& b) {
  return collective_stream(s, b, s.scenario.overlap.expert_exchange ? Stream::tensor : Stream::compute);
}

KernelShape route_shape(const Stage& s) {
  const models::Experts& e = s.model().experts;
  return {.m = capacity_rows(s.scenario),
          .k = e.top_k,
          .experts = static_cast<std::int32_t>(e.count),
          .groups = static_cast<std::int32_t>(e.groups),
          .top_groups = static_cast<std::int32_t>(e.top_groups),
          .sigmoid = e.router == models::RouterKind::sigmoid,
          .normalized = e.normalized,
          .scale = e.scale};
}

// Of an all_to_all: what says how often a token has experts on one machine.
KernelShape exchange_shape(const Stage& s) {
  const models::Experts& e = s.model().experts;
  if (s.scenario.experts.dispatch == scenarios::Dispatch::pairs) return {};
  return {.k = e.top_k,
          .experts = static_cast<std::int32_t>(e.count),
          .groups = static_cast<std::int32_t>(e.groups),
          .top_groups = static_cast<std::int32_t>(e.top_groups)};
}

KernelShape sort_shape(const Stage& s) { return {.experts = static_cast<std::int32_t>(s.z.experts)}; }

KernelShape grouped(const Stage& s, KernelShape shape) {
  shape.experts = static_cast<std::int32_t>(s.z.experts);
  return shape;
}

// A buffer of as many rows as an extent has, of one block or (kept) of a layer and microbatch.
Tensor extent_tensor(Stage& s, BlockBuilder& b, const std::string& name, Extent extent, Life life, bool kept,
                     std::int64_t columns) {
  const std::int64_t rows = extent == Extent::gathered ? s.z.gathered : s.z.received;
  const std::uint32_t slots = s.program.slots;
  const BufferId id = declare_once(s, {.name = kept ? name : workspace_name(s, name),
                                       .kind = kept ? BufferKind::activation : BufferKind::workspace,
                                       .type = s.activation_type,
                                       .elements = rows * columns,
                                       .extent = extent,
                                       .instances = kept ? static_cast<std::uint32_t>(s.layer_units) * slots : 1});
  const Index index = kept ? Index{.unit_stride = slots, .slot_stride = 1} : Index{};
  return b.tensor(id, index, life, rows, columns);
}

Extent extent_of(const Stage& s) { return s.scenario.parallel.etp > 1 ? Extent::gathered : Extent::received; }

Tensor extent_workspace(Stage& s, BlockBuilder& b, const std::string& name, std::int64_t columns) {
  return extent_tensor(s, b, name, extent_of(s), Life::local, false, columns);
}

Tensor choice_rows(Stage& s, BlockBuilder& b, const std::string& name) {
  return workspace(s, b, name, s.activation_type, choices(s), s.z.hidden);
}

// Every member's counts: [senders x experts], the members of "expert_tensor" outside.
void gather_counts(Stage& s, BlockBuilder& b, Tensor own, Tensor all) {
  const scenarios::Parallel& p = s.scenario.parallel;
  Tensor x = own;
  if (p.ep > 1) {
    const Tensor y = p.etp > 1 ? workspace(s, b, "experts.counts_of_group", DataType::int32, p.ep, own.columns) : all;
    b.add(OpKind::all_gather, {in(Role::x, x), out(Role::y, y)}).on(exchange_stream(s, b)).group(expert_group(s));
    x = y;
  }
  if (p.etp > 1)
    b.add(OpKind::all_gather, {in(Role::x, x), out(Role::y, all)})
        .on(exchange_stream(s, b))
        .group(find_group(s.schedule, "expert_tensor"));
  may_cut(s, b);
}

// The tokens' rows, by expert, to the ranks that compute them: y has them by expert.
void dispatch(Stage& s, BlockBuilder& b, const std::string& name, Tensor x, Tensor counts, Tensor y,
              const std::function<void()>& beside) {
  const scenarios::Parallel& p = s.scenario.parallel;
  if (p.ep > 1) {
    const Tensor received =
        extent_tensor(s, b, name + ".received", Extent::received, Life::local, false, s.z.hidden);
    b.add(OpKind::all_to_all, {in(Role::x, x), out(Role::y, received), in(Role::counts, counts)}, exchange_shape(s))
        .on(exchange_stream(s, b))
        .group(expert_group(s));
    x = received;
  }
  if (p.etp > 1) {
    const Tensor gathered = extent_workspace(s, b, name + ".gathered", s.z.hidden);
    b.add(OpKind::all_gather, {in(Role::x, x), out(Role::y, gathered), in(Role::counts, counts)})
        .on(exchange_stream(s, b))
        .group(find_group(s.schedule, "expert_tensor"));
    x = gathered;
  }
  may_cut(s, b);
  beside();
  b.add(OpKind::expert_sort, {in(Role::x, x), in(Role::counts, counts), out(Role::y, y)}, sort_shape(s))
      .group(expert_group(s));
}

// The way back; partial sums of "expert_tensor" are added.
void give_back(Stage& s, BlockBuilder& b, const std::string& name, Tensor x, Tensor counts, Tensor y) {
  const scenarios::Parallel& p = s.scenario.parallel;
  const Tensor unsorted = extent_workspace(s, b, name + ".unsorted", s.z.hidden);
  b.add(OpKind::expert_unsort, {in(Role::x, x), in(Role::counts, counts), out(Role::y, unsorted)}, sort_shape(s))
      .group(expert_group(s));
  x = unsorted;
  if (p.etp > 1) {
    const Tensor reduced =
        p.ep > 1 ? extent_tensor(s, b, name + ".reduced", Extent::received, Life::local, false, s.z.hidden) : y;
    b.add(OpKind::reduce_scatter, {in(Role::x, x), out(Role::y, reduced), in(Role::counts, counts)})
        .on(exchange_stream(s, b))
        .group(find_group(s.schedule, "expert_tensor"));
    x = reduced;
  }
  if (p.ep > 1)
    b.add(OpKind::all_to_all, {in(Role::x, x), out(Role::y, y), in(Role::counts, counts)}, exchange_shape(s))
        .on(exchange_stream(s, b))
        .group(expert_group(s));
  may_cut(s, b);
}

// The gradient of a grouped product's rows: kept for the weights' where these are another block.
Tensor rows_gradient(Stage& s, BlockBuilder& b, const char* name, std::int64_t columns, Life life) {
  return s.splits_backward ? extent_tensor(s, b, name, extent_of(s), life, true, columns)
                           : extent_workspace(s, b, name, columns);
}

void weight_gradient(Stage& s, BlockBuilder& b, Tensor d, Tensor rows, Tensor counts, Tensor dw) {
  b.add(OpKind::grouped_gemm, {in(Role::dy, d), in(Role::x, rows), in(Role::counts, counts), accumulate(Role::dw, dw)},
        grouped(s, {.m = d.columns, .n = rows.columns, .k = d.rows, .layout = Layout::nt}))
      .group(expert_group(s));
}

const char* first_weight(const Stage& s) { return models::gated(s.model().activation) ? "gate" : "up"; }

}  // namespace

namespace {

Tensor counts_tensor(Stage& s, BlockBuilder& b, Life life) {
  const scenarios::Parallel& p = s.scenario.parallel;
  return layer_tensor(s, b, "experts.counts", DataType::int32, life, p.ep * p.etp, s.model().experts.count);
}
Tensor kept_rows(Stage& s, BlockBuilder& b, const char* name, Life life, std::int64_t columns) {
  return extent_tensor(s, b, name, extent_of(s), life, true, columns);
}

}  // namespace

ExpertTensors expert_tensors(Stage& s, BlockBuilder& b, Life life, Life linear_inputs_life) {
  const models::Experts& e = s.model().experts;
  const std::int64_t rows = s.z.local_tokens;
  ExpertTensors t;
  t.logits = layer_tensor(s, b, "router.logits", s.activation_type, life, rows, e.count);
  t.weights = layer_tensor(s, b, "router.weights", DataType::fp32, life, rows, e.top_k);
  t.routes = layer_tensor(s, b, "router.routes", DataType::int32, life, rows, e.top_k);
  t.counts = counts_tensor(s, b, linear_inputs_life);
  t.rows = kept_rows(s, b, "experts.rows", linear_inputs_life, s.z.hidden);
  t.up = kept_rows(s, b, "experts.up", life, s.z.expert_up);
  t.activated = kept_rows(s, b, "experts.activated", linear_inputs_life, s.z.expert_ffn);
  t.returned = exchanges(s) ? layer_tensor(s, b, "experts.returned", s.activation_type, life, choices(s), s.z.hidden)
                            : kept_rows(s, b, "experts.returned", life, s.z.hidden);
  return t;
}

Tensor write_experts(Stage& s, BlockBuilder& b, const ExpertTensors& t, Tensor x, const std::function<void()>& beside) {
  const Tensor router = weight_of(s, b, kLayer, "router");
  b.add(OpKind::gemm, {in(Role::x, x), in(Role::w, router), out(Role::y, t.logits)}, forward_gemm(x, router));
  const bool exchange = exchanges(s);
  const Tensor own = exchange ? workspace(s, b, "experts.own_counts", DataType::int32, 1, t.counts.columns) : t.counts;
  b.add(OpKind::route_forward,
        {in(Role::x, t.logits), in(Role::bias, weight_of(s, b, kLayer, "router_correction")), out(Role::w, t.weights),
         out(Role::routes, t.routes), out(Role::counts, own)},
        route_shape(s));
  if (exchange) gather_counts(s, b, own, t.counts);
  const Tensor permuted = exchange ? choice_rows(s, b, "experts.permuted") : t.rows;
  b.add(OpKind::permute, {in(Role::x, x), in(Role::routes, t.routes), in(Role::counts, t.counts), out(Role::y, permuted)},
        sort_shape(s));
  if (exchange)
    dispatch(s, b, "experts", permuted, t.counts, t.rows, beside);
  else
    beside();
  const Tensor up = expert_weights(s, b, first_weight(s), "up"), down = expert_weights(s, b, "down", "down");
  const auto product = [&](Tensor rows, Tensor w, Tensor y) {
    b.add(OpKind::grouped_gemm, {in(Role::x, rows), in(Role::w, w), in(Role::counts, t.counts), out(Role::y, y)},
          grouped(s, {.m = rows.rows, .n = y.columns, .k = rows.columns, .layout = Layout::tn}))
        .group(expert_group(s));
  };
  product(t.rows, up, t.up);
  b.add(OpKind::activation_forward, {in(Role::x, t.up), in(Role::counts, t.counts), out(Role::y, t.activated)},
        activation_shape(s))
      .group(expert_group(s));
  const Tensor result = exchange ? extent_workspace(s, b, "experts.down", s.z.hidden) : t.returned;
  product(t.activated, down, result);
  if (exchange) give_back(s, b, "experts", result, t.counts, t.returned);
  const Tensor y = workspace(s, b, "experts.combined", s.activation_type, s.z.local_tokens, s.z.hidden);
  b.add(OpKind::combine,
        {in(Role::x, t.returned), in(Role::routes, t.routes), in(Role::counts, t.counts), in(Role::w, t.weights),
         out(Role::y, y)},
        sort_shape(s));
  return y;
}

namespace {

// Through the experts' MLP: from the gradient of its outputs to that of its inputs. Returns that of its first products.
Tensor mlp_of_experts_backward(Stage& s, BlockBuilder& b, const ExpertTensors& t, Tensor dy, Tensor dx) {
  const Tensor up = expert_weights(s, b, first_weight(s), "up"), down = expert_weights(s, b, "down", "down");
  const auto input_gradient = [&](Tensor d, Tensor w, Tensor result) {
    b.add(OpKind::grouped_gemm, {in(Role::dy, d), in(Role::w, w), in(Role::counts, t.counts), out(Role::dx, result)},
          grouped(s, {.m = d.rows, .n = result.columns, .k = d.columns, .layout = Layout::nn}))
        .group(expert_group(s));
  };
  const Tensor dactivated = extent_workspace(s, b, "experts.dactivated", s.z.expert_ffn);
  input_gradient(dy, down, dactivated);
  if (!s.splits_backward) weight_gradient(s, b, dy, t.activated, t.counts, expert_gradients(s, b, "down", "down"));
  const Tensor dup = rows_gradient(s, b, "experts.dup", s.z.expert_up, Life::born);
  b.add(OpKind::activation_backward,
        {in(Role::dy, dactivated), in(Role::x, t.up), in(Role::counts, t.counts), out(Role::dx, dup)},
        activation_shape(s))
      .group(expert_group(s));
  input_gradient(dup, up, dx);
  return dup;
}

// Adds what the choice's weights give to the gradient of x.
void router_backward(Stage& s, BlockBuilder& b, const ExpertTensors& t, Tensor dweights, Tensor x, Tensor dx) {
  const Tensor dlogits =
      workspace(s, b, "router.dlogits", s.activation_type, t.logits.rows, t.logits.columns);
  b.add(OpKind::route_backward,
        {in(Role::dw, dweights), in(Role::x, t.logits), in(Role::routes, t.routes), out(Role::dx, dlogits)},
        route_shape(s));
  const Tensor router = weight_of(s, b, kLayer, "router");
  b.add(OpKind::gemm, {in(Role::dy, dlogits), in(Role::w, router), accumulate(Role::dx, dx)},
        input_gradient_gemm(dlogits, router));
  b.add(OpKind::gemm,
        {in(Role::dy, dlogits), in(Role::x, x), accumulate(Role::dw, gradient_of(s, b, kLayer, "router"))},
        weight_gradient_gemm(dlogits, x));
}

}  // namespace

Tensor experts_backward(Stage& s, BlockBuilder& b, const ExpertTensors& t, Tensor dy, Tensor x,
                        const std::function<void()>& beside) {
  const bool exchange = exchanges(s);
  const Tensor dresult = rows_gradient(s, b, "experts.dresult", s.z.hidden, Life::born);
  const Tensor dreturned = exchange ? choice_rows(s, b, "experts.dreturned") : dresult;
  const Tensor dweights =
      workspace(s, b, "router.dweights", DataType::fp32, t.weights.rows, t.weights.columns);
  b.add(OpKind::combine_backward,
        {in(Role::dy, dy), in(Role::x, t.returned), in(Role::routes, t.routes), in(Role::counts, t.counts),
         in(Role::w, t.weights), out(Role::dx, dreturned), out(Role::dw, dweights)},
        sort_shape(s));
  if (exchange)
    dispatch(s, b, "experts.d", dreturned, t.counts, dresult, beside);
  else
    beside();
  const Tensor drows = extent_workspace(s, b, "experts.drows", s.z.hidden);
  const Tensor dup = mlp_of_experts_backward(s, b, t, dresult, drows);
  Tensor dpermuted = drows;
  if (exchange) {
    dpermuted = choice_rows(s, b, "experts.dpermuted");
    give_back(s, b, "experts.d", drows, t.counts, dpermuted);
  }
  if (!s.splits_backward)  // beside the exchange
    weight_gradient(s, b, dup, t.rows, t.counts, expert_gradients(s, b, first_weight(s), "up"));
  const Tensor dx = workspace(s, b, "experts.dinput", s.activation_type, x.rows, x.columns);
  b.add(OpKind::combine,
        {in(Role::x, dpermuted), in(Role::routes, t.routes), in(Role::counts, t.counts), out(Role::y, dx)},
        sort_shape(s));
  router_backward(s, b, t, dweights, x, dx);
  return dx;
}

void experts_weight_gradients(Stage& s, BlockBuilder& b) {
  const Tensor counts = counts_tensor(s, b, Life::dies);
  weight_gradient(s, b, rows_gradient(s, b, "experts.dresult", s.z.hidden, Life::dies),
                  kept_rows(s, b, "experts.activated", Life::dies, s.z.expert_ffn), counts,
                  expert_gradients(s, b, "down", "down"));
  weight_gradient(s, b, rows_gradient(s, b, "experts.dup", s.z.expert_up, Life::dies),
                  kept_rows(s, b, "experts.rows", Life::dies, s.z.hidden), counts,
                  expert_gradients(s, b, first_weight(s), "up"));
}

}  // namespace orrery::schedule
