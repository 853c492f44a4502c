// A Scenario, read, resolved and legal: what to train, on what, split how. `auto` values are solved and
// framework policies filled in, so nothing downstream knows a framework. docs/reference/scenario.md lists
// every field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/json.h"
#include "base/units.h"
#include "hardware/cluster.h"
#include "hardware/software_stack.h"
#include "models/architecture.h"
#include "scenarios/pipeline_traits.h"

namespace orrery::scenarios {

enum class Framework : std::uint8_t { orrery, megatron, deepspeed, ddp, fsdp, fsdp1 };
enum class Recompute : std::uint8_t { none, selective, full };
enum class Optimizer : std::uint8_t { adam, sgd, sgd_momentum };
// How the operands of low-precision products are scaled (schedule/compile/low_precision.h).
enum class Scaling : std::uint8_t { none, delayed, current, block, mx, nvfp4 };
enum class ContextMethod : std::uint8_t { ring, all_gather, ulysses, hybrid };
enum class OffloadTarget : std::uint8_t { none, cpu };
enum class Balance : std::uint8_t { balanced, zipf, counts };
// Tokens on their way to experts: a message for each pair of ranks, or each token once to every machine and on from there.
enum class Dispatch : std::uint8_t { pairs, by_node };
// When a backward asks for the next unit's weights: before a unit's kernels; behind them, before its reduction; or behind that.
enum class BackwardPrefetch : std::uint8_t { pre, post, none };
enum class Algorithm : std::uint8_t { automatic, ring, tree, nvls, nvls_tree };
enum class Protocol : std::uint8_t { automatic, ll, ll128, simple };

struct Parallel {
  std::int64_t tp = 1, pp = 1, dp = 1, vpp = 1;  // vpp: model chunks (virtual stages) per rank
  std::int64_t cp = 1;                           // context parallelism: ranks that share a sequence's positions
  ContextMethod context_method = ContextMethod::ring;
  std::int64_t ulysses = 1;                      // of the cp, those that exchange heads: 1, cp, or between (hybrid)
  std::int64_t ep = 1, etp = 1, edp = 1;         // the grid of experts: etp x ep x edp = tp x cp x dp in a stage
  bool sequence_parallel = false;
  int zero = 0;  // 0: DDP; 1, 2, 3
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::int64_t in_flight = 0;  // zb-auto: microbatches in flight on a rank at most; 0: 2 pp
  // Layers of each virtual stage, in model order (pp * vpp entries); schedule/compile/placement.h says which rank has
  // which. The embedding is with the first, the head with the last.
  std::vector<std::int64_t> layers_of_stage;
  // Rank = sum of index * stride over tp, cp, dp, pp; from "order" (default tp-cp-ep-dp-pp: tensor neighbours adjacent,
  // pipeline stages farthest apart). scenarios/rank_order.h sets them.
  std::int64_t tp_stride = 1, cp_stride = 1, dp_stride = 1, pp_stride = 1;
  std::int64_t etp_stride = 1, ep_stride = 1, edp_stride = 1;
  std::int64_t world() const { return tp * cp * pp * dp; }
  // Ranks that hold the same dense weights, and over which their gradients are reduced and ZeRO shards.
  std::int64_t replicas() const { return dp * cp; }
};

struct Training {
  std::int64_t global_batch = 0, micro_batch = 0, sequence_length = 0;
  std::int64_t microbatches = 0;  // per step and data-parallel rank: global / (micro * dp)
  hardware::Precision precision = hardware::Precision::bf16;
  Optimizer optimizer = Optimizer::adam;
  Recompute recompute = Recompute::none;
  std::int64_t recompute_every = 1;  // full: only every n-th layer's input is kept
  // Full: of each virtual stage only the first so many layers, the others keep their activations; empty: all.
  std::vector<std::int64_t> recompute_layers;
  double clip_gradient_norm = 1.0;   // 0: off
  double learning_rate = 1e-4, weight_decay = 0.1, beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8;
  double dropout = 0.0;
  bool attention_flops_causal = false;  // how model FLOPs count attention
  std::int64_t tokens = 0;              // "how long to N tokens"; 0: not asked
  std::int64_t vocab_divisible_by = 128;
  std::int64_t seed = 1;
};

// Element sizes and types of the mixed-precision recipe, e.g. megatron fp16: 2 + 4 + 4 + 8 = 18 B.
struct Recipe {
  int weight_bytes = 2, gradient_bytes = 4;
  bool master_weights = true;     // fp32 copy in the optimizer
  int optimizer_state_bytes = 8;  // Adam: two fp32 moments
  // ZeRO-3 with a mixed-precision policy (FSDP): weights are kept in weight_bytes, gathered and used in gathered_bytes;
  // gradients come in that, are reduced in reduce_bytes and kept in gradient_bytes. 0: no such policy.
  int gathered_bytes = 0, reduce_bytes = 0;
  Scaling scaling = Scaling::none;  // fp8, fp4: of the layers' linear products
  std::string name;
};

// What the framework does; filled from its policy table (scenarios/policy.h), each field can be overridden.
struct Overlap {
  bool gradient_reduce = true;       // data-parallel gradient traffic with the last microbatch's backward
  bool parameter_gather = false;     // ZeRO-1/2: gather of updated weights with the next forward
  bool pipeline = false;             // send / receive on streams of their own
  bool tensor_backward = false;      // input-gradient all_reduce with the weight-gradient GEMM
  bool expert_exchange = false;      // tokens travel to experts and back while shared experts and weight gradients compute
  std::int64_t tensor_chunks = 1;    // row chunks of a GEMM beside which tensor-parallel collectives travel; 1: none do
  std::int64_t deferred_microbatches = 0;  // the first ones, whose output weight gradient waits for the pipeline's drain
  std::int64_t bucket_elements = 0;  // gradient buckets; 0: one bucket
  std::int64_t prefetch_units = 1;   // ZeRO-3: units (of sharding.unit_layers) gathered ahead in the forward
  std::int64_t prefetch_backward = 1;  // and in the backward
  std::int64_t bucket_buffers = 0;   // staging buffers of bucket_elements each that stay allocated
};

// How ZeRO and FSDP spread the states over the data-parallel ranks, and how long what they gather stays
// (docs/models/sharding.md).
struct Sharding {
  std::int64_t group = 0;  // ranks that hold one copy of the states together; others replicate it; 0: all
  bool reshard_after_forward = true;   // false: gathered weights stay until their backward
  bool reshard_after_backward = true;  // false: until the last backward of the step
  bool root_reshards = true;           // embedding and head as layers; false: they stay until their backward
  std::int64_t reshard_to = 0;  // after the forward each of so many neighbours keeps a part for the backward
  std::int64_t secondary = 0;   // the same, in a copy that is always there (ZeRO++ hpZ)
  std::int64_t unit_layers = 1;           // layers that are gathered together
  std::int64_t live_layers = 0;           // of a stage, from its end: used again so soon that their weights stay
  bool reduce_every_microbatch = true;    // ZeRO-2, 3; false: whole gradients add up until the last
  bool replicas_every_microbatch = true;  // sum over the replicas in each of those, or only in the last
  bool limit_on_host = false;             // the host waits before it gathers more than prefetched
  bool prefetch_before_kernels = true;    // forward: the host issues the next gather before a unit's kernels, not behind
  BackwardPrefetch backward_prefetch = BackwardPrefetch::pre;
  std::int64_t shards(std::int64_t dp) const { return group == 0 ? dp : group; }
};

// Which kernels a layer runs.
struct Kernels {
  bool fused_attention = true;  // flash attention; false: QK^T, softmax, dropout, PV with the s x s matrix
  bool fused_softmax = true;    // separate attention: scale + mask + softmax in one kernel
  bool softmax_fp32_copy =
      false;  // separate attention keeps softmax output in fp32 too (7 B/element instead of 5)
  bool fused_elementwise = true;  // bias + activation, bias + dropout + add in one kernel
  bool fp32_logits = true;        // logits are cast to fp32 for the loss
  bool cuda_graphs = false;       // the step is launched as a recorded graph: its ops cost the host nothing
};

// How many tokens the experts of a model get, as a simulation draws it (schedule/expert_rows.h), and how many they take.
struct ExpertLoad {
  Balance balance = Balance::balanced;
  double zipf_exponent = 1.0;
  std::vector<double> counts;    // of each expert, in proportion
  double capacity_factor = 0.0;  // 0: dropless
  Dispatch dispatch = Dispatch::pairs;
};

struct Offload {
  OffloadTarget optimizer = OffloadTarget::none;  // states on the host, CPU Adam
  bool pinned = true;
};

struct Compression {
  double top_k = 0.0;  // share of gradient elements sent; 0: off
  // ZeRO++: bits of the codes in which weights are gathered (ZeRO-3) and gradients scattered (ZeRO-2, 3); 0: as they are.
  int weight_bits = 0, gradient_bits = 0;
  std::int64_t block = 2048;    // elements that share a scale
  std::int64_t node_ranks = 1;  // neighbours that gradients go through first
};

struct Network {
  Algorithm algorithm = Algorithm::automatic;
  Protocol protocol = Protocol::automatic;
};

struct Measured {  // what somebody measured; each optional
  std::optional<double> step_time_s, samples_per_s, tokens_per_s_per_gpu, tflops_per_gpu;
  std::optional<double> peak_memory_bytes, comm_fraction;
  std::string source;
};

// Where in the user's files late findings (does not fit, deadlock, bubble) point.
struct Origins {
  Place scenario, model, cluster, parallel, training, tp, cp, ep, pp, dp, vpp, zero, schedule, global_batch,
      micro_batch, recompute, measured;
};

struct Scenario {
  std::string name;
  std::string path;
  Framework framework = Framework::orrery;
  models::Architecture model;
  hardware::Cluster cluster;
  Parallel parallel;
  Training training;
  Recipe recipe;
  Overlap overlap;
  Sharding sharding;
  Kernels kernels;
  ExpertLoad experts;
  hardware::SoftwareStack stack;  // whose kernels run; without a name: those of the GPU's profile as they are
  Offload offload;
  Compression compression;
  Network network;
  std::optional<Measured> measured;
  Origins origins;
  std::vector<Diagnostic> warnings;  // legal, but worth saying

  // Vocabulary rows as trained (padded), before tensor sharding.
  std::int64_t vocab_rows() const {
    return models::padded_vocab(model.vocab, training.vocab_divisible_by, parallel.tp);
  }
};

// Reads a scenario file, its bases, its model and cluster; checks legality. Throws InputError with all
// errors.
Scenario read_scenario(const std::string& path);

// The same from parsed JSON (bases not yet merged); see scenarios/override.h for setting single fields.
// Problems go to `diagnostics`, and the result is then unusable.
Scenario resolve_scenario(const Json& json, Diagnostics& diagnostics);

}  // namespace orrery::scenarios
