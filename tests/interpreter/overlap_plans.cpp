// Plans in which something travels beside computation, or waits for its time, that others have at once: chunks of products
// beside tensor-parallel collectives, weight gradients of the output layer, FSDP1's orders of gathers.
#include "tests/interpreter/named_plans.h"

namespace orrery::interpreter {
namespace {

using scenarios::BackwardPrefetch;
using scenarios::Scenario;

void chunks(Scenario& s, std::int64_t n) {
  sequence_parallel(s);
  s.overlap.tensor_chunks = n;
}

std::vector<NamedPlan> chunked() {
  return {
      {"TP2, two chunks",
       [](Scenario& s) {
         tensor_parallel(s);
         s.overlap.tensor_chunks = 2;
       }},
      {"TP2 SP, two chunks", [](Scenario& s) { chunks(s, 2); }},
      {"TP2 SP, four chunks, all overlapped",
       [](Scenario& s) {
         chunks(s, 4);
         s.overlap.tensor_backward = true;
       }},
      {"TP2 SP x PP2 x DP2, two chunks, ZeRO-1, full recomputation",
       [](Scenario& s) {
         three_dimensional(s);
         s.parallel.zero = 1;
         s.overlap.tensor_chunks = 2;
         s.overlap.pipeline = s.overlap.tensor_backward = true;
         s.training.recompute = scenarios::Recompute::full;
       }},
      {"TP2 SP x PP2, two chunks, messages on the compute stream",
       [](Scenario& s) {
         chunks(s, 2);
         s.parallel.pp = 2;
         s.training.micro_batch = 2;
       }},
      {"TP2 SP x PP2 ZB-H1, two chunks",
       [](Scenario& s) {
         s.model.layers = 4;
         chunks(s, 2);
         s.parallel.pp = 2;
         s.parallel.schedule = scenarios::PipelineSchedule::zero_bubble_h1;
         s.training.micro_batch = 1;
         s.overlap.pipeline = true;
       }},
      {"CP2 ring x TP2 SP, two chunks",
       [](Scenario& s) {
         chunks(s, 2);
         s.parallel.cp = 2;
         s.parallel.context_method = scenarios::ContextMethod::ring;
       }},
  };
}

void deferred(Scenario& s, std::int64_t microbatches) {
  s.parallel.pp = 2;
  s.training.micro_batch = 1;
  s.overlap.deferred_microbatches = microbatches;
}

std::vector<NamedPlan> with_deferred_gradients() {
  return {
      {"PP2, deferred embedding gradients", [](Scenario& s) { deferred(s, 100); }},
      {"PP2 untied, overlapped, one deferred, 16-bit logits",
       [](Scenario& s) {
         deferred(s, 1);
         s.model.tied_embeddings = s.kernels.fp32_logits = false;
         s.overlap.pipeline = true;
       }},
      {"TP2 SP x PP2 interleaved x DP2, ZeRO-1, three deferred, all overlapped, clipping",
       [](Scenario& s) {
         s.model.layers = 4;
         three_dimensional(s);
         deferred(s, 3);
         s.parallel.zero = 1;
         s.parallel.vpp = 2;
         s.overlap.gradient_reduce = s.overlap.pipeline = s.overlap.tensor_backward = s.overlap.parameter_gather = true;
         s.training.clip_gradient_norm = 0.1;
       }},
  };
}

void fsdp1(Scenario& s, std::int64_t layers) {
  s.model.layers = layers;
  s.parallel.dp = 2;
  s.parallel.zero = 3;
  s.training.micro_batch = 1;
  s.overlap.gradient_reduce = true;
  s.sharding.prefetch_before_kernels = s.sharding.root_reshards = false;
}
void behind(Scenario& s, BackwardPrefetch when) {
  s.sharding.backward_prefetch = when;
  s.overlap.prefetch_backward = 0;
}

std::vector<NamedPlan> gathered_in_other_orders() {
  return {
      {"FSDP1, gathered behind the kernels, limited on the host",
       [](Scenario& s) {
         fsdp1(s, 4);
         s.sharding.limit_on_host = true;
       }},
      {"FSDP1, units of two of five layers, gathered behind the kernels, asked for before the reduction",
       [](Scenario& s) {
         fsdp1(s, 5);
         s.sharding.unit_layers = 2;
         behind(s, BackwardPrefetch::post);
       }},
      {"FSDP1, all gathered ahead, nothing in the backward, full recomputation",
       [](Scenario& s) {
         fsdp1(s, 4);
         s.overlap.prefetch_units = 100;
         behind(s, BackwardPrefetch::none);
         s.training.recompute = scenarios::Recompute::full;
       }},
      {"FSDP1 x PP2 interleaved, gathered behind the kernels",
       [](Scenario& s) {
         fsdp1(s, 8);
         s.parallel.pp = s.parallel.vpp = 2;
         s.sharding.root_reshards = true;
         s.model.tied_embeddings = false;
         s.overlap.pipeline = true;
       }},
  };
}

}  // namespace

const std::vector<NamedPlan>& overlap_plans() {
  static const std::vector<NamedPlan> kPlans = [] {
    std::vector<NamedPlan> all = chunked();
    for (const auto& more : {with_deferred_gradients(), gathered_in_other_orders()})
      all.insert(all.end(), more.begin(), more.end());
    return all;
  }();
  return kPlans;
}

}  // namespace orrery::interpreter
