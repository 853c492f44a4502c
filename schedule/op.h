// The operations of a Schedule. An op carries a kernel shape or a size, never a time. docs/schedule.md states each
// kind's exact meaning, in double-precision loops; tests/interpreter performs them just so.
//
// Conventions. Activations are [rows x columns], row = position * batch + sequence ("s b h"), so that a sequence
// shard is a range of rows. A linear layer has its weight as [outputs x inputs]. `T` is s * b of one microbatch.
// Views are found by role, not by position: an absent role (no bias, no mask) is a view that is not there.
// An output whose access is `update` accumulates (+=), one that is `write` is overwritten, whatever the kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace orrery::schedule {

enum class DataType : std::uint8_t { fp32, fp16, bf16, int32, byte, fp8, fp4 };
inline constexpr std::size_t kDataTypes = 7;
std::int64_t size_of(DataType type);  // bytes of one element alone: two of fp4 share one
std::int64_t bytes_of(DataType type, std::int64_t elements);
std::string_view name(DataType type);

enum class OpKind : std::uint8_t {
  // Data movement on the device.
  fill,   // y = 0
  cast,   // y = x, in another type; several y: one kernel that writes each (a quantised copy and its transpose)
  absmax,  // y = the largest |x|: the pass before a cast that scales by it
  add,    // y += x
  split_columns,  // y: the shape.n equal column blocks of x, one behind the other: [T x n w] to [n T x w]
  join_columns,   // and back
  input,  // tokens and labels of one microbatch, host to device: writes tokens [T x 1], labels [T x 1]

  // Linear algebra.
  gemm,           // shape.layout: tn y = x w^T (+ bias); nn dx = dy w; nt dw += dy^T x. Output `updated` accumulates
  bias_backward,  // dbias += column sums of dy

  // Embedding. `w` is this tensor rank's block of vocabulary rows (op.group = tp): rows outside it give 0.
  embedding_forward,   // y[r] = w[tokens[r]]
  embedding_backward,  // dw[tokens[r]] += dy[r]
  position_forward,    // y[r] += w[position of row r]; shape.sequence_sharded: rows are the group's shard
  position_backward,   // dw[position of row r] += dy[r]

  // Norms (shape.norm). The backward recomputes the statistics from x; dx is accumulated (residual gradient).
  norm_forward,   // y = norm(x) * w (+ bias)
  norm_backward,  // dx += ..., dw += ..., dbias += ...

  // Attention on q [T x heads*d], k, v [T x kv_heads*d] (views into one fused buffer). scale = 1 / sqrt(d).
  latent_forward,   // latent attention: q's rotary part in place; k and v from x (each head's nope | value) and shared
  latent_backward,  // dq in place, dx and shared (the gradient of the shared key) from dk and dv
  resize_heads,     // y = x, heads trimmed or padded with zeros
  rotary_forward,   // q, k in place
  rotary_backward,  // dq, dk in place
  head_norm_forward,   // RMS norm of each head's d elements: y = norm(x) * w
  head_norm_backward,  // dx, dw (dx written)
  attention_forward,   // fused: o, lse [heads*b x s] from q, k, v
  attention_backward,  // fused: dq, dk, dv from do, q, k, v, o, lse
  attention_merge,     // o, lse of more keys: x and stats, the o and lse of a part, are added to o, lse
  attention_scores,    // separate kernels: y[b*heads x s x s] = q k^T * scale
  softmax_forward,     // y = softmax(x + causal mask (+ ALiBi)), rows of s
  softmax_backward,    // dx = y * (dy - sum(dy * y))
  attention_context,   // o = x v, x: probabilities
  attention_dprobabilities,  // dx = do v^T
  attention_dvalue,    // dv = x^T do
  attention_dquery,    // dq = x k * scale, x: gradient of the scores
  attention_dkey,      // dk = x^T q * scale

  // Elementwise.
  activation_forward,   // y = act(x (+ bias)); gated: x is [T x 2f] as gate | up, y [T x f]
  activation_backward,  // dx = dy * act'(x (+ bias)); dbias += column sums of dx where there is a bias
  dropout_forward,      // y = x * mask / (1 - p), mask written (1 byte an element)
  dropout_backward,     // dx = dy * mask / (1 - p)
  bias_dropout_add_forward,   // y = residual + dropout(x (+ bias)); mask written where p > 0
  bias_dropout_add_backward,  // dx = dropout'(dy); dbias += column sums of dx
  
  // Experts. `routes` [T x top_k]: the experts of each token (-1: dropped). `counts` [members x experts]: how many rows each
  // member of the groups "expert_tensor" (outer) and "expert" (inner) sends to each expert. Rows for experts lie expert by
  // expert, within one by token; rows received lie sender by sender until they are sorted.
  route_forward,     // the choice: routes, counts, and weights w [T x top_k], from logits x [T x experts] (+ bias)
  route_backward,    // dx of the logits from dw of the weights
  permute,           // y[row of (t, j)] = x[t]
  combine,           // y[t] = sum over j of (w[t, j]) x[row of (t, j)]
  combine_backward,  // dx[row of (t, j)] = w[t, j] dy[t], dw[t, j] = dy[t] . x[row of (t, j)]
  expert_sort,       // y = x, from sender by sender to expert by expert
  expert_unsort,     // and back
  grouped_gemm,      // a gemm for each local expert, on its own rows and weights; shape.m: all rows

  // Loss over a vocabulary sharded on the tensor group; `stats` is [T x 4]: max, sum of exp, target logit, loss.
  cross_entropy_max,       // stats[0] = max of logits x
  cross_entropy_sum,       // stats[1] = sum exp(x - stats[0]), stats[2] = x[label] if it is in the shard, else 0
  cross_entropy_loss,      // stats[3] = ln stats[1] + stats[0] - stats[2]; loss += scale * sum over rows of it
  cross_entropy_backward,  // dx = scale * (exp(x - stats[0]) / stats[1] - [column is label]); in place where dx = x

  // Optimizer, on flat vectors of one unit (Program::units tells what is replicated and what is decayed).
  gradient_norm,  // y[0] += sum of squares of x; elements replicated over tp count on tp index 0 only
  adam,           // master, m, v (and weight w) from dw; the clip factor comes from `norm`
  sgd,            // master (and w), momentum m where present
  cpu_adam,       // the same, on the host

  // Gradient compression.
  top_k_select,  // y [2 x k] (values, indices) = the k largest |x|; where x is updated it keeps the rest (feedback)
  top_k_apply,   // y += scattered x [2n x k]; y starts at element index(group) * shape.m of the flat vector
  quantise,      // y = codes of n bits and a float scale for each block of k elements, row by row; several pairs
  dequantise,    // y[i] = sum of the values of rows i, i + rows of y, ... of x

  // Communication. Members of `group` meet; views are matched in order. See docs/schedule.md for the layouts.
  all_reduce,      // y updated; shape.reduce: sum or max; several views are one coalesced call
  reduce_scatter,  // pairs x (full, read), y (own shard, written)
  all_gather,      // pairs x (own shard, read), y (full, written)
  all_to_all,      // x, y
  broadcast,       // y, from index 0 of the group
  send,            // x to the member at index + peer
  recv,            // y from the member at index + peer

  // Host and copies.
  copy_to_host,    // y = x
  copy_to_device,  // y = x
  host_wait,       // the host blocks until the awaited events have happened
};
inline constexpr std::size_t kOpKinds = static_cast<std::size_t>(OpKind::host_wait) + 1;
std::string_view name(OpKind kind);
bool is_collective(OpKind kind);     // all_reduce .. broadcast
bool is_point_to_point(OpKind kind); // send, recv
inline bool is_communication(OpKind kind) { return is_collective(kind) || is_point_to_point(kind); }
bool is_copy(OpKind kind);           // copy_to_host, copy_to_device, input
bool is_compute(OpKind kind);        // a kernel of the device (cpu_adam and host_wait are none of these classes)

enum class Role : std::uint8_t {
  x, y, w, bias, dy, dx, dw, dbias, residual, mask, tokens, labels, stats, loss, q, k, v, o, lse, dout, dq, dk, dv,
  routes, counts, shared, norm, master, moment1, moment2,
  release,  // a view of 0 elements: only frees the buffer, here where its last user on another stream was waited for
};
inline constexpr std::size_t kRoles = static_cast<std::size_t>(Role::release) + 1;
std::string_view name(Role role);

// One stream is one in-order queue of a rank, as in CUDA. `cpu` is a worker thread of the host.
enum class Stream : std::uint8_t {
  compute, tensor, data, pipe_send_forward, pipe_recv_forward, pipe_send_backward, pipe_recv_backward,
  // For chunks whose stages run against the order of the ranks (ZB-V, DualPipe): one stream for both ways would let a
  // message to one neighbour wait for one to the other, which may wait for the first.
  pipe_send_forward_2, pipe_recv_forward_2, pipe_send_backward_2, pipe_recv_backward_2, context,
  to_host, to_device, cpu, host,  // host: host_wait only
};
inline constexpr std::size_t kStreams = static_cast<std::size_t>(Stream::host) + 1;
std::string_view name(Stream stream);
// Which messages are counted together: those of the pipeline's streams of one kind, on both sides; 0: of all others.
std::uint8_t message_direction(Stream stream);

// What part of the step an op belongs to: FLOP accounting, memory phases and verify's rule of F, then B, then W.
// weight_gradient: those that a schedule runs apart from the backward that the stage before waits for.
enum class Phase : std::uint8_t { setup, forward, recompute, backward, weight_gradient, optimizer };
inline constexpr std::size_t kPhases = 6;
std::string_view name(Phase phase);

enum class Layout : std::uint8_t { tn, nn, nt };  // forward, input gradient, weight gradient
enum class Reduce : std::uint8_t { sum, max };
enum class Norm : std::uint8_t { layer_norm, rms_norm };
enum class Activation : std::uint8_t { gelu, relu, squared_relu, swiglu, geglu };
inline constexpr std::size_t kLayouts = 3, kReduces = 2, kNorms = 2, kActivations = 5;
std::string_view name(Layout layout);
std::string_view name(Reduce reduce);
std::string_view name(Norm norm);
std::string_view name(Activation activation);

// The shape of a kernel; fields a kind does not use are 0. FLOPs and bytes are pure functions of it and the views.
struct KernelShape {
  // GEMM: [m x k] x [k x n]; routing: m rows of an expert (0: any), k = top_k; all_to_all of tokens that go to each machine
  // once: the same as of the routing
  std::int64_t m = 0, n = 0, k = 0;
  std::int32_t batch = 0, sequence = 0;    // attention, rotary, position
  std::int32_t heads = 0, kv_heads = 0, head_dim = 0;
  std::int32_t keys = 0;                   // fused attention: of a sequence, where not as many as queries
  std::int32_t value_dim = 0, rope_dim = 0;  // latent attention: of a head's values, the rest being zeros; rotated part
  std::int32_t experts = 0;                // grouped_gemm, sorting: local ones; routing: all of the layer
  std::int32_t groups = 0, top_groups = 0;  // routing: experts are chosen within the best groups
  Layout layout = Layout::tn;
  Reduce reduce = Reduce::sum;
  Norm norm = Norm::layer_norm;
  Activation activation = Activation::gelu;
  bool causal = true;
  bool alibi = false;
  bool sequence_sharded = false;
  double dropout = 0.0;
  bool sigmoid = false, normalized = false;  // routing: how experts are scored, and whether weights sum to 1
  double scale = 1.0;  // cross entropy: 1 / tokens of the global batch; routing: of the weights
  bool operator==(const KernelShape&) const = default;
};

}  // namespace orrery::schedule
