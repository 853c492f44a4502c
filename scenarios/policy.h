// What a training framework does when nobody tells it otherwise: bytes per parameter, bucket sizes, what
// overlaps, which kernels are fused. One row of data per framework; nothing downstream knows a framework's
// name. Each value's source is in docs/reference/frameworks.md. Every value can be overridden in the
// scenario.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.h"

namespace orrery::scenarios {

// In which plans something happens.
enum class When : std::uint8_t { never, always, zero_3, interleaved, no_pipeline };

struct BucketRule {
  std::int64_t elements = 0;         // at least this many; 0: one bucket for everything
  std::int64_t elements_per_dp = 0;  // and this many per data-parallel rank
  std::int64_t bytes = 0;            // instead of both: bytes of gradients
  bool only_overlapped = false;      // one bucket where the reduction does not overlap
};

struct Policy {
  Framework framework = Framework::orrery;
  std::string_view help;
  int gradient_bytes = 4;  // mixed precision (fp16, bf16); fp32 and tf32 keep everything in fp32
  When gradient_reduce = When::always;
  When parameter_gather = When::never;
  When pipeline = When::never;
  When tensor_backward = When::never;
  BucketRule bucket;
  bool stages_buckets = false;  // ZeRO: gradients are collected in bucket buffers that stay allocated; two if overlapped
  std::int64_t prefetch_elements = 0;  // ZeRO-3: parameters gathered ahead, in whole layers, at least one
  // ZeRO-3: weights are given back after the forward; after every backward, and gradients reduced then, not only in the
  // last microbatch of the step; embedding and head like layers; shards are kept in fp32 and gathered in 16 bits.
  When reshard_after_forward = When::always, reshard_after_backward = When::always;
  When reduce_every_microbatch = When::always;
  bool root_reshards = true;
  bool fp32_shards = false;
  int reduce_bytes = 4;  // with fp32_shards
  bool limit_all_gathers = false, forward_prefetch = true;
  // ZeRO-3: what is used again within so many elements stays, up to so many live ones; 0: nothing does.
  std::int64_t max_live_elements = 0, max_reuse_elements = 0;
  ContextMethod context_method = ContextMethod::ring;
  Kernels kernels;
  std::int64_t vocab_divisible_by = 128;
};

const std::vector<Policy>& policies();
const Policy& policy_of(Framework framework);

// The parts of a plan that a policy looks at.
struct PlanFacts {
  int zero = 0;
  std::int64_t dp = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  std::int64_t pp = 1;
  std::int64_t layer_elements = 0;  // parameters of one layer on one tensor rank
  std::int64_t head_elements = 0;   // and of the output projection
  std::int64_t layers = 0;          // of a stage
};

bool happens(When when, const PlanFacts& plan);
std::int64_t bucket_elements(const BucketRule& rule, const PlanFacts& plan, int gradient_bytes,
                             bool overlapped);
// Staging buffers of one bucket each.
std::int64_t bucket_buffers(const Policy& policy, const PlanFacts& plan, bool overlapped);
std::int64_t prefetch_units(const Policy& policy, const PlanFacts& plan);
// The last layers of a stage whose weights stay from forward to backward under DeepSpeed's limits: behind the k-th from
// the end come k - 1 layers and the head, forward and backward, before it is used again.
struct LiveLimits {
  std::int64_t live = 0, reuse = 0;  // elements
};
std::int64_t live_layers(const LiveLimits& limits, const PlanFacts& plan);

// Bytes per parameter of a framework at a precision with an optimizer: "megatron: 2 + 4 + 4 + 8 = 18
// B/parameter".
Recipe recipe_of(const Policy& policy, hardware::Precision precision, Optimizer optimizer, bool sharded_weights = false);
std::string describe(const Recipe& recipe);  // "2 + 4 + 4 + 8 = 18 B/parameter"

// Products of 8 or 4 bits, in a model that is otherwise bf16.
constexpr bool is_low(hardware::Precision precision) {
  return precision == hardware::Precision::fp8 || precision == hardware::Precision::fp4;
}
// Weights and activations of 16 bits.
constexpr bool is_half(hardware::Precision precision) {
  return precision == hardware::Precision::fp16 || precision == hardware::Precision::bf16 || is_low(precision);
}

}  // namespace orrery::scenarios
