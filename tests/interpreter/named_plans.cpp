#include "tests/interpreter/named_plans.h"

#include <cctype>

namespace orrery::interpreter {

using scenarios::Scenario;

namespace {

void tp(Scenario& s) { s.parallel.tp = 2; }
void sp(Scenario& s) {
  s.parallel.tp = 2;
  s.parallel.sequence_parallel = true;
}
void pp(Scenario& s) {
  s.parallel.pp = 2;
  s.training.micro_batch = 2;
}
void dp(Scenario& s) {
  s.parallel.dp = 2;
  s.training.micro_batch = 2;
}
void three(Scenario& s) {
  sp(s);
  s.parallel.pp = s.parallel.dp = 2;
  s.training.micro_batch = 1;
}
void zero(Scenario& s, int stage) {
  dp(s);
  s.parallel.zero = stage;
}
void four_layers(Scenario& s) { s.model.layers = 4; }
// A schedule that computes while its messages are on their way, on a pipeline of `pp` ranks.
void asynchronous(Scenario& s, scenarios::PipelineSchedule schedule, std::int64_t pp, std::int64_t micro_batch) {
  four_layers(s);
  s.parallel.pp = pp;
  if (scenarios::traits(schedule).chunks != scenarios::Chunks::one) s.parallel.vpp = 2;
  s.parallel.schedule = schedule;
  s.training.micro_batch = micro_batch;
  s.overlap.pipeline = true;
}

}  // namespace

const std::vector<NamedPlan>& basic_plans() {
  static const std::vector<NamedPlan> kPlans = {
    {"one rank", [](Scenario&) {}},
    {"accumulation", [](Scenario& s) { s.training.micro_batch = 2; }},
    {"separate attention", [](Scenario& s) { s.kernels.fused_attention = false; }},
    {"separate softmax",
     [](Scenario& s) { s.kernels.fused_attention = s.kernels.fused_softmax = false; s.kernels.softmax_fp32_copy = true; }},
    {"separate elementwise", [](Scenario& s) { s.kernels.fused_elementwise = false; }},
    {"16-bit logits", [](Scenario& s) { s.kernels.fp32_logits = false; }},
    {"clipping", [](Scenario& s) { s.training.clip_gradient_norm = 0.1; }},
    {"sgd", [](Scenario& s) { s.training.optimizer = scenarios::Optimizer::sgd; }},
    {"sgd with momentum", [](Scenario& s) { s.training.optimizer = scenarios::Optimizer::sgd_momentum; }},
    {"no master weights", [](Scenario& s) { s.recipe.master_weights = false; s.recipe.weight_bytes = 4; }},
    {"offload, clipping",
     [](Scenario& s) {
       s.training.clip_gradient_norm = 0.1;
       s.offload.optimizer = scenarios::OffloadTarget::cpu;
     }},
    {"offload", [](Scenario& s) { s.offload.optimizer = scenarios::OffloadTarget::cpu; }},
  };
  return kPlans;
}

const std::vector<NamedPlan>& recompute_plans() {
  static const std::vector<NamedPlan> kPlans = {
    {"selective, fused", [](Scenario& s) { s.training.recompute = scenarios::Recompute::selective; }},
    {"selective, separate",
     [](Scenario& s) {
       s.training.recompute = scenarios::Recompute::selective;
       s.kernels.fused_attention = false;
     }},
    {"full", [](Scenario& s) { s.training.recompute = scenarios::Recompute::full; }},
    {"full, every 2 of 4",
     [](Scenario& s) {
       four_layers(s);
       s.training.recompute = scenarios::Recompute::full;
       s.training.recompute_every = 2;
     }},
    {"full, every 3 of 4, PP2, TP2 with SP",
     [](Scenario& s) {
       four_layers(s);
       sp(s);
       pp(s);
       s.parallel.layers_of_stage = {3, 1};
       s.training.recompute = scenarios::Recompute::full;
       s.training.recompute_every = 3;
     }},
    {"full, of one layer a stage, PP2",
     [](Scenario& s) {
       four_layers(s);
       pp(s);
       s.training.recompute = scenarios::Recompute::full;
       s.training.recompute_layers = {1, 1};
     }},
    {"full, of some layers, every 2, PP2 interleaved, DP2, ZeRO-3, untied",
     [](Scenario& s) {
       four_layers(s);
       s.model.layers = 8;
       pp(s);
       zero(s, 3);
       s.parallel.vpp = 2;
       s.model.tied_embeddings = false;
       s.overlap.pipeline = true;
       s.training.recompute = scenarios::Recompute::full;
       s.training.recompute_every = 2;
       s.training.recompute_layers = {2, 1, 0, 2};
     }},
    {"full, ZeRO-3", [](Scenario& s) { zero(s, 3); s.training.recompute = scenarios::Recompute::full; }},
  };
  return kPlans;
}

const std::vector<NamedPlan>& tensor_plans() {
  static const std::vector<NamedPlan> kPlans = {
    {"TP2", tp},
    {"TP2, clipping", [](Scenario& s) { tp(s); s.training.clip_gradient_norm = 0.1; }},
    {"TP2, separate attention", [](Scenario& s) { tp(s); s.kernels.fused_attention = false; }},
    {"TP2, overlapped backward", [](Scenario& s) { tp(s); s.overlap.tensor_backward = true; }},
    {"TP2 with SP", sp},
    {"TP2 with SP, accumulation", [](Scenario& s) { sp(s); s.training.micro_batch = 2; }},
    {"TP2 with SP, overlapped backward", [](Scenario& s) { sp(s); s.overlap.tensor_backward = true; }},
    {"TP2 with SP, clipping, separate",
     [](Scenario& s) {
       sp(s);
       s.training.clip_gradient_norm = 0.1;
       s.kernels.fused_attention = s.kernels.fused_elementwise = false;
     }},
  };
  return kPlans;
}

const std::vector<NamedPlan>& pipeline_plans() {
  static const std::vector<NamedPlan> kPlans = {
    {"PP2 1F1B", pp},
    {"PP2 1F1B, overlapped", [](Scenario& s) { pp(s); s.overlap.pipeline = true; }},
    {"PP2 GPipe", [](Scenario& s) { pp(s); s.parallel.schedule = scenarios::PipelineSchedule::gpipe; }},
    {"PP2 GPipe, overlapped",
     [](Scenario& s) { pp(s); s.parallel.schedule = scenarios::PipelineSchedule::gpipe; s.overlap.pipeline = true; }},
    {"PP2, one microbatch", [](Scenario& s) { pp(s); s.training.micro_batch = 8; }},
    {"PP4, two microbatches",
     [](Scenario& s) { four_layers(s); s.parallel.pp = 4; s.training.micro_batch = 4; s.training.clip_gradient_norm = 0.1; }},
    {"PP4, eight microbatches, overlapped",
     [](Scenario& s) { four_layers(s); s.parallel.pp = 4; s.training.micro_batch = 1; s.overlap.pipeline = true; }},
    {"PP2 uneven", [](Scenario& s) { four_layers(s); pp(s); s.parallel.layers_of_stage = {1, 3}; }},
    {"PP2, a stage of the head alone", [](Scenario& s) { pp(s); s.parallel.layers_of_stage = {2, 0}; }},
    {"PP2, a stage of the embedding alone", [](Scenario& s) { pp(s); s.parallel.layers_of_stage = {0, 2}; }},
    {"PP2 interleaved", [](Scenario& s) { four_layers(s); pp(s); s.parallel.vpp = 2; }},
    {"PP2 interleaved, overlapped",
     [](Scenario& s) { four_layers(s); pp(s); s.parallel.vpp = 2; s.overlap.pipeline = true; }},
    {"PP2 interleaved, uneven, eight microbatches",
     [](Scenario& s) {
       four_layers(s);
       pp(s);
       s.training.micro_batch = 1;
       s.parallel.vpp = 2;
       s.parallel.layers_of_stage = {1, 2, 1, 0};
     }},
  };
  return kPlans;
}

namespace {

const std::vector<NamedPlan>& split_plans() {
  using scenarios::PipelineSchedule;
  static const std::vector<NamedPlan> kPlans = {
    {"PP2 ZB-H1", [](Scenario& s) { asynchronous(s, PipelineSchedule::zero_bubble_h1, 2, 2); }},
    {"PP4 ZB-H1, eight microbatches",
     [](Scenario& s) { asynchronous(s, PipelineSchedule::zero_bubble_h1, 4, 1); s.training.clip_gradient_norm = 0.1; }},
    {"PP4 ZB-H1, two microbatches", [](Scenario& s) { asynchronous(s, PipelineSchedule::zero_bubble_h1, 4, 4); }},
    {"PP2 ZB-H2", [](Scenario& s) { asynchronous(s, PipelineSchedule::zero_bubble_h2, 2, 1); }},
    {"PP4 ZB-H2, full recomputation",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::zero_bubble_h2, 4, 1);
       s.training.recompute = scenarios::Recompute::full;
     }},
    {"PP2 ZB-H1, separate kernels, selective recomputation",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::zero_bubble_h1, 2, 1);
       s.kernels.fused_attention = s.kernels.fused_softmax = s.kernels.fused_elementwise = false;
       s.training.recompute = scenarios::Recompute::selective;
     }},
    {"TP2 x PP2 x DP2 ZB-H1",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::zero_bubble_h1, 2, 1);
       tp(s);
       s.parallel.dp = 2;
     }},
    {"TP2 SP x PP2 x DP2 ZB-H1, ZeRO-1, all overlapped",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::zero_bubble_h1, 2, 1);
       sp(s);
       s.parallel.dp = 2;
       s.parallel.zero = 1;
       s.overlap.gradient_reduce = s.overlap.tensor_backward = s.overlap.parameter_gather = true;
       s.training.clip_gradient_norm = 0.1;
     }},
    {"PP2 ZB-H1, a stage of the head alone",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::zero_bubble_h1, 2, 1);
       s.parallel.layers_of_stage = {4, 0};
       s.kernels.fp32_logits = false;
     }},
  };
  return kPlans;
}

const std::vector<NamedPlan>& placed_plans() {
  using scenarios::PipelineSchedule;
  static const std::vector<NamedPlan> kPlans = {
    {"PP2 ZB-1p", [](Scenario& s) { asynchronous(s, PipelineSchedule::zero_bubble_1p, 2, 1); }},
    {"PP4 ZB-2p, uneven",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::zero_bubble_2p, 4, 1);
       s.parallel.layers_of_stage = {1, 1, 2, 0};
     }},
    {"PP2 breadth-first", [](Scenario& s) { asynchronous(s, PipelineSchedule::breadth_first, 2, 2); }},
    {"PP2 x DP2 breadth-first, ZeRO-3, overlapped, untied",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::breadth_first, 2, 1);
       s.parallel.dp = 2;
       s.parallel.zero = 3;
       s.model.tied_embeddings = false;
       s.overlap.gradient_reduce = true;
     }},
    {"PP2 ZB-V", [](Scenario& s) { asynchronous(s, PipelineSchedule::zero_bubble_v, 2, 1); }},
    {"PP2 ZB-V, two microbatches, clipping",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::zero_bubble_v, 2, 4);
       s.training.clip_gradient_norm = 0.1;
     }},
    {"PP2 ZB-V, ends alone",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::zero_bubble_v, 2, 1);
       s.parallel.layers_of_stage = {0, 2, 2, 0};
     }},
    {"TP2 SP x PP2 x DP2 ZB-V, ZeRO-1, all overlapped, full recomputation",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::zero_bubble_v, 2, 1);
       sp(s);
       s.parallel.dp = 2;
       s.parallel.zero = 1;
       s.training.recompute = scenarios::Recompute::full;
       s.overlap.gradient_reduce = s.overlap.tensor_backward = s.overlap.parameter_gather = true;
       s.training.clip_gradient_norm = 0.1;
     }},
  };
  return kPlans;
}

const std::vector<NamedPlan>& dual_plans() {
  using scenarios::PipelineSchedule;
  static const std::vector<NamedPlan> kPlans = {
    {"PP2 DualPipe", [](Scenario& s) { asynchronous(s, PipelineSchedule::dual_pipe, 2, 1); }},
    {"PP4 DualPipe, clipping",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::dual_pipe, 4, 1);
       s.training.clip_gradient_norm = 0.1;
     }},
    {"PP2 x DP2 DualPipe, ZeRO-1, overlapped, clipping",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::dual_pipe, 2, 1);
       s.parallel.dp = 2;
       s.parallel.zero = 1;
       s.overlap.gradient_reduce = s.overlap.parameter_gather = true;
       s.training.clip_gradient_norm = 0.1;
     }},
    {"PP2 DualPipe, offload",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::dual_pipe, 2, 1);
       s.offload.optimizer = scenarios::OffloadTarget::cpu;
     }},
    {"TP2 SP x PP4 DualPipe, all overlapped, dropout",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::dual_pipe, 4, 1);
       sp(s);
       s.model.dropout = s.training.dropout = 0.1;
       s.overlap.tensor_backward = true;
       s.training.clip_gradient_norm = 0.1;
     }},
    {"PP2 DualPipe, full recomputation",
     [](Scenario& s) {
       asynchronous(s, PipelineSchedule::dual_pipe, 2, 1);
       s.training.recompute = scenarios::Recompute::full;
     }},
    {"TP2 x PP2 DualPipe-V", [](Scenario& s) { asynchronous(s, PipelineSchedule::dual_pipe_v, 2, 1); tp(s); }},
  };
  return kPlans;
}

}  // namespace

const std::vector<NamedPlan>& schedule_plans() {
  static const std::vector<NamedPlan> kPlans = [] {
    std::vector<NamedPlan> all = split_plans();
    all.insert(all.end(), placed_plans().begin(), placed_plans().end());
    all.insert(all.end(), dual_plans().begin(), dual_plans().end());
    return all;
  }();
  return kPlans;
}

namespace {

const std::vector<NamedPlan>& reduced_plans() {
  static const std::vector<NamedPlan> kPlans = {
    {"DP2", dp},
    {"DP2, overlapped", [](Scenario& s) { dp(s); s.overlap.gradient_reduce = true; }},
    {"DP4, small buckets, overlapped",
     [](Scenario& s) {
       four_layers(s);
       s.parallel.dp = 4;
       s.training.micro_batch = 1;
       s.overlap.gradient_reduce = true;
       s.overlap.bucket_elements = 3000;
       s.training.clip_gradient_norm = 0.1;
     }},
    {"DP8, one microbatch",
     [](Scenario& s) { s.parallel.dp = 8; s.training.micro_batch = 1; s.overlap.gradient_reduce = true; }},
    {"ZeRO-1", [](Scenario& s) { zero(s, 1); }},
    {"ZeRO-2", [](Scenario& s) { zero(s, 2); }},
    {"ZeRO-3", [](Scenario& s) { zero(s, 3); }},
    {"ZeRO-1, clipping, overlapped, gathered with the forward",
     [](Scenario& s) {
       zero(s, 1);
       s.overlap.gradient_reduce = s.overlap.parameter_gather = true;
       s.training.clip_gradient_norm = 0.1;
     }},
    {"ZeRO-2, clipping, overlapped, gathered with the forward",
     [](Scenario& s) {
       zero(s, 2);
       s.overlap.gradient_reduce = s.overlap.parameter_gather = true;
       s.training.clip_gradient_norm = 0.1;
     }},
    {"ZeRO-2, reduced every microbatch, overlapped",
     [](Scenario& s) { zero(s, 2); s.overlap.gradient_reduce = true; }},
    {"ZeRO-2, reduced every microbatch, small buckets",
     [](Scenario& s) {
       four_layers(s);
       zero(s, 2);
       s.overlap.gradient_reduce = true;
       s.overlap.bucket_elements = 3000;
     }},
  };
  return kPlans;
}

const std::vector<NamedPlan>& sharded_plans() {
  static const std::vector<NamedPlan> kPlans = {
    {"ZeRO-3, overlapped, clipping",
     [](Scenario& s) { zero(s, 3); s.overlap.gradient_reduce = true; s.training.clip_gradient_norm = 0.1; }},
    {"ZeRO-3, reduced every microbatch, two layers ahead, offload",
     [](Scenario& s) {
       four_layers(s);
       zero(s, 3);
       s.overlap.gradient_reduce = true;
       s.overlap.prefetch_units = 2;
       s.training.clip_gradient_norm = 0.1;
       s.offload.optimizer = scenarios::OffloadTarget::cpu;
     }},
    {"ZeRO-3, offload", [](Scenario& s) { zero(s, 3); s.offload.optimizer = scenarios::OffloadTarget::cpu; }},
    {"ZeRO-3, two layers ahead", [](Scenario& s) { four_layers(s); zero(s, 3); s.overlap.prefetch_units = 2; }},
    {"ZeRO-2, offload, clipping",
     [](Scenario& s) {
       zero(s, 2);
       s.training.clip_gradient_norm = 0.1;
       s.offload.optimizer = scenarios::OffloadTarget::cpu;
     }},
    {"ZeRO-3 of three ranks",  // flat vectors are padded
     [](Scenario& s) {
       s.parallel.dp = 3;
       s.parallel.zero = 3;
       s.training.global_batch = 6;
       s.training.micro_batch = 1;
       s.training.clip_gradient_norm = 0.1;
     }},
    {"ZeRO-2 of three ranks, overlapped",
     [](Scenario& s) {
       s.parallel.dp = 3;
       s.parallel.zero = 2;
       s.training.global_batch = 6;
       s.training.micro_batch = 1;
       s.overlap.gradient_reduce = true;
     }},
    // All gradients are sent: the compressed path moves the same numbers.
    {"DP2, compressed to all", [](Scenario& s) { dp(s); s.compression.top_k = 1.0; }},
    {"DP2, compressed to all, overlapped",
     [](Scenario& s) { dp(s); s.compression.top_k = 1.0; s.overlap.gradient_reduce = true; }},
    {"ZeRO-1, compressed to all", [](Scenario& s) { zero(s, 1); s.compression.top_k = 1.0; }},
    {"ZeRO-2, compressed to all", [](Scenario& s) { zero(s, 2); s.compression.top_k = 1.0; }},
    {"ZeRO-3, compressed to all, overlapped",
     [](Scenario& s) { zero(s, 3); s.compression.top_k = 1.0; s.overlap.gradient_reduce = true; }},
    {"ZeRO-1, sgd with momentum",
     [](Scenario& s) {
       zero(s, 1);
       s.training.optimizer = scenarios::Optimizer::sgd_momentum;
     }},
  };
  return kPlans;
}

}  // namespace

const std::vector<NamedPlan>& combined_plans() {
  static const std::vector<NamedPlan> kPlans = {
    {"TP2 SP x PP2 x DP2", three},
    {"TP2 SP x PP2 x DP2, all overlapped, clipping",
     [](Scenario& s) {
       three(s);
       s.overlap.gradient_reduce = s.overlap.pipeline = s.overlap.tensor_backward = true;
       s.training.clip_gradient_norm = 0.1;
     }},
    {"TP2 SP x PP2 x DP2, ZeRO-1, all overlapped, clipping",
     [](Scenario& s) {
       three(s);
       s.parallel.zero = 1;
       s.overlap.gradient_reduce = s.overlap.pipeline = s.overlap.tensor_backward = s.overlap.parameter_gather = true;
       s.training.clip_gradient_norm = 0.1;
     }},
    {"TP2 SP x PP2 interleaved x DP2, ZeRO-1, all overlapped, full recomputation",
     [](Scenario& s) {
       four_layers(s);
       three(s);
       s.parallel.zero = 1;
       s.parallel.vpp = 2;
       s.overlap.gradient_reduce = s.overlap.pipeline = s.overlap.tensor_backward = s.overlap.parameter_gather = true;
       s.training.recompute = scenarios::Recompute::full;
       s.training.clip_gradient_norm = 0.1;
     }},
    {"TP2 x DP2, ZeRO-2, reduced every microbatch, clipping",
     [](Scenario& s) {
       tp(s);
       zero(s, 2);
       s.overlap.gradient_reduce = true;
       s.training.clip_gradient_norm = 0.1;
     }},
    {"TP2 SP x DP2, ZeRO-3, overlapped, selective, clipping",
     [](Scenario& s) {
       sp(s);
       zero(s, 3);
       s.overlap.gradient_reduce = s.overlap.tensor_backward = true;
       s.training.recompute = scenarios::Recompute::selective;
       s.training.clip_gradient_norm = 0.1;
     }},
    // A tied embedding on two stages is not legal under ZeRO-2 and 3.
    {"PP2 x DP2, untied, ZeRO-2", [](Scenario& s) { pp(s); zero(s, 2); s.model.tied_embeddings = false; }},
    {"PP2 x DP2, untied, ZeRO-3",
     [](Scenario& s) { pp(s); zero(s, 3); s.model.tied_embeddings = false; s.overlap.pipeline = true; }},
    {"PP2 interleaved x DP2, untied, ZeRO-3, full recomputation, overlapped",
     [](Scenario& s) {
       four_layers(s);
       pp(s);
       zero(s, 3);
       s.parallel.vpp = 2;
       s.model.tied_embeddings = false;
       s.overlap.pipeline = s.overlap.gradient_reduce = true;
       s.training.recompute = scenarios::Recompute::full;
     }},
    {"TP4 SP x PP2", [](Scenario& s) { pp(s); sp(s); s.parallel.tp = 4; s.model.kv_heads = 4; }},
  };
  return kPlans;
}

const std::vector<NamedPlan>& data_plans() {
  static const std::vector<NamedPlan> kPlans = [] {
    std::vector<NamedPlan> all = reduced_plans();
    all.insert(all.end(), sharded_plans().begin(), sharded_plans().end());
    return all;
  }();
  return kPlans;
}

std::string test_name(const NamedPlan& plan) {
  std::string name;
  for (const char c : plan.name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

void tensor_parallel(Scenario& s) { tp(s); }
void sequence_parallel(Scenario& s) { sp(s); }
void three_dimensional(Scenario& s) { three(s); }
void zero_stage(Scenario& s, int stage) { zero(s, stage); }

}  // namespace orrery::interpreter
